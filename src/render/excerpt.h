// SPDX-License-Identifier: Apache-2.0
// Splits a source excerpt into the lines that a card shows.
#pragma once

#include <string>
#include <vector>

#include "model/finding.h"

namespace cyclewatch::render {

// One line, split at the expression to underline. Concatenating `before`, `expression` and `after`
// yields the line without control characters and without the indentation that all lines of the
// excerpt share.
struct ExcerptLine {
    std::string number;           // padded to the width of the others
    bool is_at_location = false;  // the line at the location
    std::string before;           // the text before the expression; the whole line if unknown
    std::string expression;       // "" if unknown
    std::string after;
};

// Returns the line at the location and its two neighbors. Blank neighbors are omitted.
[[nodiscard]] std::vector<ExcerptLine> excerpt_lines(const model::SourceExcerpt& source);

}  // namespace cyclewatch::render
