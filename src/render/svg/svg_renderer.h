// SPDX-License-Identifier: Apache-2.0
// Draws the cycles of findings as SVG.
#pragma once

#include <cstddef>
#include <string>

#include "model/finding.h"
#include "model/report.h"

namespace cyclewatch::render {

// A drawing without colours; the enclosing document styles its classes.
struct RingDrawing {
    std::string svg;   // an <svg> element; "" if the picture has no items
    double width = 0;  // in pixels
    double height = 0;
};

// The ids in the drawing start with "f<rank>". The objects counted by undrawn_items() are omitted.
[[nodiscard]] RingDrawing draw_ring(const model::Picture& picture, std::size_t rank);

// A standalone document with all cycles, one below the other, for light and dark colour schemes.
[[nodiscard]] std::string render_svg(const model::Report& report);

// The same for the cycle of one finding, without a heading.
[[nodiscard]] std::string render_svg(const model::Finding& finding);

}  // namespace cyclewatch::render
