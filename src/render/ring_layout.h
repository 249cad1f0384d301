// SPDX-License-Identifier: Apache-2.0
// Where things go when a loop is drawn as a ring: its members clockwise on an ellipse, what
// hangs off it in columns at both sides. Pure geometry in pixels, y pointing down.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/finding.h"

namespace cyclewatch::render {

struct Point {
    double x = 0;
    double y = 0;
};

struct RingBox {
    std::size_t item = 0;  // index into Picture::items
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
    std::vector<RingBox> boxes;
    std::vector<RingArrow> arrows;
};

// A picture with more than this is left to a real layout engine.
inline constexpr std::size_t kMaxRingMembers = 10;
inline constexpr std::size_t kMaxRingItems = 40;

// What is written into a box and on an arrow, already cut to length; not yet escaped.
struct BoxText {
    std::string name;
    std::string second_line;
};
[[nodiscard]] BoxText box_text(const model::Picture::Item& item);
[[nodiscard]] std::string arrow_text(const model::Picture::Arrow& arrow);
inline constexpr double kLabelLine = 15;  // height of a line on an arrow

// Nothing if the picture is too large or its loop is not one simple ring.
[[nodiscard]] std::optional<RingLayout> lay_out_ring(const model::Picture& picture);

}  // namespace cyclewatch::render
