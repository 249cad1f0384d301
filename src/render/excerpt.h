// SPDX-License-Identifier: Apache-2.0
// Splits a source excerpt into the lines that a card shows.
#pragma once

#include <string>
#include <vector>

#include "model/finding.h"

namespace cyclewatch::render {

// One line. The texts are cleaned for display. Concatenated, the texts are the line without the
// indentation that all lines have in common.
struct ExcerptLine {
    std::string number;           // padded to the width of the others
    bool is_at_location = false;  // the line at the location
    std::string before;           // the text before the expression; the whole line if unknown
    std::string expression;       // "" if unknown
    std::string after;
};

// The line at the location, the line before and the line after it, without blank lines at the ends.
[[nodiscard]] std::vector<ExcerptLine> excerpt_lines(const model::SourceExcerpt& source);

}  // namespace cyclewatch::render
