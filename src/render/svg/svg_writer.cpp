// SPDX-License-Identifier: Apache-2.0
#include "render/svg/svg_writer.h"

#include <array>
#include <charconv>
#include <cmath>

namespace cyclewatch::render {

std::string svg_number(double value) {
    if (!std::isfinite(value) || std::abs(value) > 1e7) {
        return "0";
    }
    const double rounded = std::round(value * 10) / 10;
    std::array<char, 32> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), rounded + 0.0);
    return {text.data(), end.ptr};
}

std::string svg_rectangle(
    std::string_view style, double x, double y, double width, double height, double corner) {
    std::string out = "<rect class=\"";
    out.append(style).append("\" x=\"").append(svg_number(x));
    out.append("\" y=\"").append(svg_number(y));
    out.append("\" width=\"").append(svg_number(width));
    out.append("\" height=\"").append(svg_number(height));
    if (corner > 0) {
        out.append("\" rx=\"").append(svg_number(corner));
    }
    return out + "\"/>";
}

}  // namespace cyclewatch::render
