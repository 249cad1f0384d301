// SPDX-License-Identifier: Apache-2.0
// The few pieces of SVG that pictures and charts share.
#pragma once

#include <string>
#include <string_view>

namespace cyclewatch::render {

// A coordinate with at most one decimal and a point whatever the host's locale says; "0" for
// anything that is not a finite number of sensible size.
[[nodiscard]] std::string svg_number(double value);

// A <rect>; rounded if `corner` > 0.
[[nodiscard]] std::string svg_rectangle(
    std::string_view style, double x, double y, double width, double height, double corner = 0);

}  // namespace cyclewatch::render
