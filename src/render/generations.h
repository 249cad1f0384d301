// SPDX-License-Identifier: Apache-2.0
// Describes the cost of automatic garbage collection and how much memory it freed, so that users
// can decide whether to disable it. Plain text, not escaped.
#pragma once

#include <string>
#include <vector>

#include "model/report.h"

namespace cyclewatch::render {

// "41 of 42 collections freed no device memory and took 1.9 % of the run; the other one freed 3.4
// GiB: cw1-... Fix it, and automatic collection can be disabled." Returns "" if there was no
// collection.
[[nodiscard]] std::string collections_sentence(const model::Report& report);

// One line for each generation: "generation 0: 30 collections in 12.0 ms (0.03 % of the run),
// 4,120 objects reclaimed".
[[nodiscard]] std::vector<std::string> generation_lines(const model::Report& report);

}  // namespace cyclewatch::render
