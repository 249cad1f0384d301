// SPDX-License-Identifier: Apache-2.0
// Draws a picture as SVG without colours: the document around it has the style for its classes.
#pragma once

#include <cstddef>
#include <string>

#include "model/finding.h"

namespace cyclewatch::render {

struct RingDrawing {
    std::string svg;   // an <svg> element; "" if the picture has no items
    double width = 0;  // in pixels
    double height = 0;
};

// Ids in the drawing begin with "f<rank>". undrawn_items() objects are left out.
[[nodiscard]] RingDrawing draw_ring(const model::Picture& picture, std::size_t rank);

}  // namespace cyclewatch::render
