// SPDX-License-Identifier: Apache-2.0
// The pictures of all findings as one SVG document, one below the other.
#pragma once

#include <cstddef>
#include <string>

#include "model/finding.h"
#include "model/report.h"

namespace cyclewatch::render {

// One picture without colours: the document around it has the style for its classes.
struct RingDrawing {
    std::string svg;   // an <svg> element; "" if the picture has no items
    double width = 0;  // in pixels
    double height = 0;
};

// Ids in the drawing begin with "f<rank>". undrawn_items() objects are left out.
[[nodiscard]] RingDrawing draw_ring(const model::Picture& picture, std::size_t rank);

// A standalone document, readable in light and in dark.
[[nodiscard]] std::string render_svg(const model::Report& report);

}  // namespace cyclewatch::render
