// SPDX-License-Identifier: Apache-2.0
// The page's charts and its end: bytes by finding, bytes over time, what the watch cost.
#pragma once

#include <string>

#include "model/report.h"

namespace cyclewatch::render {

// One bar per finding: bytes of its own, and bytes that other loops kept too.
[[nodiscard]] std::string finding_bars(const model::Report& report);

// Released bytes over time, and the collections behind them as a table.
[[nodiscard]] std::string collection_section(const model::Report& report);

// Overhead, what was skipped, notes, and which program this was.
[[nodiscard]] std::string closing_section(const model::Report& report);

}  // namespace cyclewatch::render
