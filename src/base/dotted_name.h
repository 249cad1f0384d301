// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace cyclewatch::base {

// "Outer.method.<locals>.inner" -> "inner"; "<lambda>" keeps its brackets, and a name without a
// dot, or with one at its end, stays as it is.
[[nodiscard]] constexpr std::string_view last_part(std::string_view name) {
    const std::size_t dot = name.rfind('.');
    return dot == std::string_view::npos || dot + 1 == name.size() ? name : name.substr(dot + 1);
}

}  // namespace cyclewatch::base
