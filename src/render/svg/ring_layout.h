// SPDX-License-Identifier: Apache-2.0
// Lays out a picture: the members of its cycle clockwise on an ellipse, everything else in columns
// at both sides. Pure geometry in pixels, y pointing down.
#pragma once

#include <cstddef>
#include <vector>

#include "model/finding.h"

namespace cyclewatch::render {

struct Point {
    double x = 0;
    double y = 0;
};

struct RingBox {
    Point centre;
    double width = 0;
    double height = 0;
};

struct RingArrow {
    std::vector<std::size_t> arrows;  // of Picture::arrows: parallel references are one line
    std::vector<Point> curve;         // cubic Bezier pieces: 1 + 3 n points, the last at the tip
    Point label;                      // centre of the label's first line
};

struct RingLayout {
    double width = 0;
    double height = 0;
    std::vector<RingBox> boxes;  // of the first items of the picture, in the same order
    std::vector<RingArrow> arrows;
};

inline constexpr std::size_t kMaxRingMembers = 10;
inline constexpr double kLabelLine = 15;  // height of a line on an arrow

// Members of the ring are the first items on the cycle, in their order; without one, the first
// item. Nothing is laid out if the picture has no items; undrawn_items() are left out.
[[nodiscard]] RingLayout lay_out_ring(const model::Picture& picture);

}  // namespace cyclewatch::render
