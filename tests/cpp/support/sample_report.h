// SPDX-License-Identifier: Apache-2.0
// The sample reports, and the golden files: reviewed output for these reports.
// CYCLEWATCH_UPDATE_GOLDEN=1 rewrites them; review the diff before committing it.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "model/report.h"

namespace cyclewatch::testing {

// tests/golden/report.json. Every field is set: add a new field to the file by hand.
model::Report make_sample_report();

// The sample with a second process.
model::Report make_merged_report();

// A report without findings.
model::Report make_quiet_report();

// The sample with every string replaced by `text`.
model::Report make_hostile_report(const std::string& text);

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
