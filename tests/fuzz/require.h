// SPDX-License-Identifier: Apache-2.0
// What a fuzz target says when something it holds to is not so: the run stops there.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace cyclewatch::fuzz {

inline void require(bool holds, const char* what, const std::string& detail = {}) {
    if (!holds) {
        std::fprintf(stderr, "not so: %s %s\n", what, detail.c_str());
        std::abort();
    }
}

}  // namespace cyclewatch::fuzz
