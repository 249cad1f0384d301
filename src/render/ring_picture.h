// SPDX-License-Identifier: Apache-2.0
// Draws a loop as a ring for the page: plain SVG whose colours come from the page's style.
#pragma once

#include <cstddef>
#include <string>

#include "model/finding.h"

namespace cyclewatch::render {

// An <svg> element; "" if the picture is not one that can be drawn as a ring. Ids in it begin
// with "f<rank>".
[[nodiscard]] std::string draw_ring(const model::Finding& finding, std::size_t rank);

// What the picture shows, for those who cannot see it; not escaped.
[[nodiscard]] std::string describe_picture(const model::Finding& finding);

}  // namespace cyclewatch::render
