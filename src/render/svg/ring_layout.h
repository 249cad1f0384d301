// SPDX-License-Identifier: Apache-2.0
// Lays out a picture: the members of its cycle clockwise on an ellipse, and all other objects in
// columns on both sides. Coordinates are in pixels, with y pointing down.
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
    std::vector<std::size_t>
        arrows;                // indexes into Picture::arrows; parallel references share a line
    std::vector<Point> curve;  // cubic Bezier segments: 1 + 3 n points, the last at the tip
    Point label;               // centre of the label's first line
};

struct RingLayout {
    double width = 0;
    double height = 0;
    std::vector<RingBox> boxes;  // for the items of the picture, in order
    std::vector<RingArrow> arrows;
};

inline constexpr std::size_t kMaxRingMembers = 10;
inline constexpr double kLabelLine = 15;  // height of a line on an arrow

// The ring consists of the first kMaxRingMembers items on the cycle, in order, or of the first item
// if none is on the cycle. The layout of an empty picture is empty.
[[nodiscard]] RingLayout lay_out_ring(const model::Picture& picture);

}  // namespace cyclewatch::render
