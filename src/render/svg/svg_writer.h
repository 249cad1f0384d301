// SPDX-License-Identifier: Apache-2.0
// SVG elements shared by diagrams and bars.
#pragma once

#include <string>
#include <string_view>

namespace cyclewatch::render {

// A coordinate with at most one decimal, independent of the locale; "0" if `value` is not finite or
// is out of range.
[[nodiscard]] std::string svg_number(double value);

// A <rect>, with rounded corners if `corner` > 0.
[[nodiscard]] std::string svg_rectangle(
    std::string_view style, double x, double y, double width, double height, double corner = 0);

}  // namespace cyclewatch::render
