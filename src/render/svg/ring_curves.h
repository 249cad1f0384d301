// SPDX-License-Identifier: Apache-2.0
// The curves of a ring's arrows, from the border of one box to the border of another.
#pragma once

#include <cstddef>
#include <vector>

#include "render/svg/ring_layout.h"

namespace cyclewatch::render {

struct Rect {
    double left = 0, top = 0, right = 0, bottom = 0;
};
[[nodiscard]] Rect around(Point centre, double width, double height, double clearance = 0);
[[nodiscard]] Rect around(const RingBox& box, double clearance = 0);
[[nodiscard]] bool overlap(const Rect& a, const Rect& b);

// Members stand on it at equal angles, clockwise from the top, around the origin.
struct Ellipse {
    std::size_t members = 1;
    double radius_x = 0;
    double radius_y = 0;

    // The point after `steps` members; halves are between two of them.
    [[nodiscard]] Point at(double steps) const;
    // The direction there, scaled so that it is the derivative by angle.
    [[nodiscard]] Point along(double steps) const;
};

// Each leaves RingArrow::arrows empty.

// Along the ellipse from member `step` to the next.
[[nodiscard]] RingArrow arc_curve(const Ellipse& ellipse,
                                  std::size_t step,
                                  const RingBox& from,
                                  const RingBox& to);
// From a box to itself, above it.
[[nodiscard]] RingArrow self_curve(const RingBox& box);
// From centre to centre, `rise` = 0; else from one upper edge to the other in a bow that high, or
// below the boxes if `rise` < 0.
[[nodiscard]] RingArrow bow_curve(const RingBox& from, const RingBox& to, double rise);
// Out of one side and into the other's, where one box is beside the other; else straight.
[[nodiscard]] RingArrow side_curve(const RingBox& from, const RingBox& to);

// Points along the line, ends left out.
[[nodiscard]] std::vector<Point> points_along(const RingArrow& arrow);

}  // namespace cyclewatch::render
