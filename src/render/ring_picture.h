// SPDX-License-Identifier: Apache-2.0
// Draws a loop as a ring for the page: plain SVG whose colours come from the page's style.
#pragma once

#include <cstddef>
#include <string>

#include "model/finding.h"

namespace cyclewatch::render {

struct RingDrawing {
    std::string svg;   // an <svg> element; "" if the picture cannot be drawn as a ring
    double width = 0;  // in pixels
};

// Ids in the drawing begin with "f<rank>".
[[nodiscard]] RingDrawing draw_ring(const model::Finding& finding, std::size_t rank);

// What the picture shows, for those who cannot see it; not escaped.
[[nodiscard]] std::string describe_picture(const model::Finding& finding);

}  // namespace cyclewatch::render
