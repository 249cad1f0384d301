// SPDX-License-Identifier: Apache-2.0
// Does a finding have the shape that a pattern describes?
#pragma once

#include <string_view>

#include "catalog/pattern.h"
#include "model/finding.h"

namespace cyclewatch::catalog {

// `*` stands for any text, also none; `?` for one character; everything else for itself.
[[nodiscard]] bool glob_matches(std::string_view glob, std::string_view text);

// True if the steps are references of the cycle one after the other, wherever in it they begin,
// and one of the references suggested is as `suggests` says. False for a pattern without a shape.
[[nodiscard]] bool shape_matches(const Pattern& pattern, const model::Finding& finding);

}  // namespace cyclewatch::catalog
