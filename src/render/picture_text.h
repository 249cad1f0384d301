// SPDX-License-Identifier: Apache-2.0
// Text and limits that the DOT and SVG renderers share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "model/finding.h"

namespace cyclewatch::render {

inline constexpr std::size_t kMaxDrawnFindings = 50;

// Text of a box and of an arrow: truncated, not escaped.
struct BoxText {
    std::string name;
    std::string second_line;
};
[[nodiscard]] BoxText box_text(const model::Picture::Item& item);
// Markup of a tooltip: the full name and, if known, the call stack that allocated an owner, one
// frame per line.
[[nodiscard]] std::string tooltip_markup(const model::Picture::Item& item);
[[nodiscard]] std::string arrow_text(const model::Picture::Arrow& arrow);

// The number of objects that are left out of the drawing.
[[nodiscard]] std::uint64_t undrawn_items(const model::Picture& picture);

// The names of the objects whose references the collector does not see, each once.
[[nodiscard]] std::vector<std::string> hiding_items(const model::Picture& picture);

// Description of the picture for screen readers. Not escaped.
[[nodiscard]] std::string describe_picture(const model::Picture& picture);

}  // namespace cyclewatch::render
