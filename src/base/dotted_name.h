// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace cyclewatch::base {

// The last part of a dotted name: "Outer.method.<locals>.inner" -> "inner". A name without a dot,
// or with a trailing dot, is returned unchanged.
[[nodiscard]] constexpr std::string_view last_part(std::string_view name) {
    const std::size_t dot = name.rfind('.');
    return dot == std::string_view::npos || dot + 1 == name.size() ? name : name.substr(dot + 1);
}

}  // namespace cyclewatch::base
