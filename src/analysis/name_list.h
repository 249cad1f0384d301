// SPDX-License-Identifier: Apache-2.0
// Lists of names that mean something.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace cyclewatch::analysis {

template <std::size_t size>
[[nodiscard]] bool contains(const std::array<std::string_view, size>& words,
                            std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace cyclewatch::analysis
