// SPDX-License-Identifier: Apache-2.0
// The one sentence that a tired reader has to understand.
#pragma once

#include <string>

#include "model/finding.h"

namespace cyclewatch::render {

// "Engine is part of a reference loop that keeps 4.0 KiB of cuda:0 memory alive: cut
// <lambda>.closure:self (train.py:12)."; of several, "20 reference loops through Engine keep
// 80.0 KiB ...", all occurrences together. One line without control characters, not yet escaped for
// any format.
[[nodiscard]] std::string headline(const model::Finding& finding);

}  // namespace cyclewatch::render
