// SPDX-License-Identifier: Apache-2.0
// Coordinates as SVG wants them: short, and with a point whatever the host's locale says.
#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <string>

namespace cyclewatch::render {

// At most one decimal; "0" for anything that is not a finite number of sensible size.
[[nodiscard]] inline std::string svg_number(double value) {
    if (!std::isfinite(value) || std::abs(value) > 1e7) {
        return "0";
    }
    const double rounded = std::round(value * 10) / 10;
    std::array<char, 32> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), rounded + 0.0);
    return {text.data(), end.ptr};
}

}  // namespace cyclewatch::render
