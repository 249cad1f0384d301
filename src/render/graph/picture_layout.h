// SPDX-License-Identifier: Apache-2.0
// Lays out a picture. Coordinates are in pixels, with y pointing down.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "model/finding.h"

namespace cyclewatch::render {

struct Point {
    double x = 0;
    double y = 0;
};

struct PictureBox {
    Point centre;
    double width = 0;
    double height = 0;
};

// Parallel references share a line, whose label has one row of text for each of them.
struct PictureLine {
    std::vector<std::size_t> arrows;  // indexes into Picture::arrows
    std::vector<Point> curve;         // cubic Bezier segments from holder to target: 1 + 3 n points
    Point tip;                        // of the arrowhead, whose base is the end of the curve
    Point label;                      // centre of the label
};

struct PictureLayout {
    double width = 0;
    double height = 0;
    std::vector<PictureBox> boxes;  // for the drawn items of the picture, in order
    std::vector<PictureLine> lines;
};

// More items and lines are not drawn. Layout takes about 20 ms for that many.
inline constexpr std::size_t kMostBoxes = 40;
inline constexpr std::size_t kMostLines = 80;

inline constexpr double kLabelRow = 13.2;  // height of a row of a label

// An empty picture has an empty layout. Nothing if Graphviz gave up. Thread-safe. Throws only
// std::bad_alloc.
[[nodiscard]] std::optional<PictureLayout> lay_out_picture(const model::Picture& picture);

// The number of times that this process has used Graphviz.
[[nodiscard]] std::size_t graphviz_sessions() noexcept;

}  // namespace cyclewatch::render
