// SPDX-License-Identifier: Apache-2.0
// Draws the cycles of findings as SVG. Also writes the SVG elements that diagrams and bar charts
// share.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "model/finding.h"
#include "model/report.h"

namespace cyclewatch::render {

// A drawing without colours; the enclosing document defines the styles of its CSS classes.
struct Drawing {
    std::string svg;   // an <svg> element; "" if the picture has no items or cannot be laid out
    double width = 0;  // in pixels
    double height = 0;
};

// Shown instead of a picture with items whose drawing is empty.
inline constexpr std::string_view kNotLaidOut = "The diagram could not be laid out.";

// The ids in the drawing start with "f<rank>".
[[nodiscard]] Drawing draw_picture(const model::Picture& picture, std::size_t rank);

// A standalone document with all cycles, one below the other. Supports light and dark colour
// schemes.
[[nodiscard]] std::string render_svg(const model::Report& report);

// A standalone document with the cycle of one finding and a legend, without a heading.
[[nodiscard]] std::string render_svg(const model::Finding& finding);

// The same for a graph that no collection has found. `description`: one sentence.
[[nodiscard]] std::string render_svg(const model::Picture& picture, const std::string& description);

// A coordinate with at most one decimal place, independent of the locale; "0" if `value` is not
// finite or is out of range.
[[nodiscard]] std::string svg_number(double value);

// A <rect>, with rounded corners if `corner` > 0.
[[nodiscard]] std::string svg_rectangle(
    std::string_view style, double x, double y, double width, double height, double corner = 0);

}  // namespace cyclewatch::render
