// SPDX-License-Identifier: Apache-2.0
// What is known of the kind of loop that a finding is: the same on every card of that kind.
#pragma once

#include <string>

#include "model/finding.h"

namespace cyclewatch::render {

// A fold with the pattern's shape in words, its code before and after and its public cases; "" if
// the finding's pattern is not a built-in one. A user's own pattern has its advice on the card.
[[nodiscard]] std::string pattern_details(const model::Finding& finding);

}  // namespace cyclewatch::render
