// SPDX-License-Identifier: Apache-2.0
// Golden files: reviewed output. CYCLEWATCH_UPDATE_GOLDEN=1 rewrites them; review the diff before
// committing it.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace cyclewatch::testing {

inline void expect_golden(const std::string& name, const std::string& actual) {
    const std::string path = std::string(CYCLEWATCH_GOLDEN_DIR) + "/" + name;
    if (std::getenv("CYCLEWATCH_UPDATE_GOLDEN") != nullptr) {
        std::ofstream(path, std::ios::binary) << actual;
        return;
    }
    std::ifstream file(path, std::ios::binary);
    ASSERT_TRUE(file.good()) << "no golden file " << name;
    const std::string expected{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(actual, expected) << "differs from tests/golden/" << name
                                << "; if this is intended, run with CYCLEWATCH_UPDATE_GOLDEN=1";
}

}  // namespace cyclewatch::testing
