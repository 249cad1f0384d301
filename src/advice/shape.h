// SPDX-License-Identifier: Apache-2.0
// Matches findings against the shape of a pattern.
#pragma once

#include <string_view>

#include "advice/pattern.h"
#include "model/finding.h"

namespace cyclewatch::advice {

// `*` matches any text, including none; `?` matches one character. Takes O(|glob| * |text|) time.
[[nodiscard]] bool glob_matches(std::string_view glob, std::string_view text);

// True if the pattern's steps match consecutive references of the cycle, starting anywhere, and its
// `suggests` matches a reference of the cut or the alternatives. False for a pattern without a
// shape.
[[nodiscard]] bool shape_matches(const Pattern& pattern, const model::Finding& finding);

}  // namespace cyclewatch::advice
