// SPDX-License-Identifier: Apache-2.0
// Computes the curves of arrows between the borders of two boxes.
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

// An ellipse around the origin. The members of the ring are placed on the ellipse at equal angles,
// clockwise from the top.
struct Ellipse {
    std::size_t members = 1;
    double radius_x = 0;
    double radius_y = 0;

    // The position of the member with the index `steps`. A fractional `steps` yields a position
    // between two members.
    [[nodiscard]] Point at(double steps) const;
    // The derivative of at() with respect to the angle.
    [[nodiscard]] Point along(double steps) const;
};

// The functions below leave RingArrow::arrows empty.

// A curve along the ellipse, from member `step` to the next member.
[[nodiscard]] RingArrow arc_curve(const Ellipse& ellipse,
                                  std::size_t step,
                                  const RingBox& from,
                                  const RingBox& to);
// An arc above the box, from the box back to itself.
[[nodiscard]] RingArrow self_curve(const RingBox& box);
// `rise` = 0: a straight line. `rise` > 0: an arc of that height above both boxes; < 0: below them.
[[nodiscard]] RingArrow bow_curve(const RingBox& from, const RingBox& to, double rise);
// A curve between the facing sides of the boxes if they are next to each other, otherwise a
// straight line.
[[nodiscard]] RingArrow side_curve(const RingBox& from, const RingBox& to);

// Points along the curve of `arrow`, excluding its end points.
[[nodiscard]] std::vector<Point> points_along(const RingArrow& arrow);

}  // namespace cyclewatch::render
