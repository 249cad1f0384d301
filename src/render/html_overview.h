// SPDX-License-Identifier: Apache-2.0
// The page's bars and its end: bytes by finding, what the watch cost, the collections.
#pragma once

#include <string>

#include "model/report.h"

namespace cyclewatch::render {

// One bar per finding: bytes of its own, and bytes that other loops kept too.
[[nodiscard]] std::string finding_bars(const model::Report& report);

// Overhead, what was skipped, notes, the collections as a table, and which program this was.
[[nodiscard]] std::string closing_section(const model::Report& report);

}  // namespace cyclewatch::render
