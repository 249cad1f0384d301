// SPDX-License-Identifier: Apache-2.0
// Aborts a fuzz target if a condition does not hold.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace cyclewatch::fuzz {

inline void require(bool holds, const char* what, const std::string& detail = {}) {
    if (!holds) {
        std::fprintf(stderr, "failed: %s %s\n", what, detail.c_str());
        std::abort();
    }
}

}  // namespace cyclewatch::fuzz
