// SPDX-License-Identifier: Apache-2.0
// What the page says of all findings together: bytes by finding, findings by process, what the
// watch cost, the collections.
#pragma once

#include <string>

#include "model/report.h"

namespace cyclewatch::render {

// One bar per finding: bytes of its own, and bytes that other cycles kept too.
[[nodiscard]] std::string finding_bars(const model::Report& report);

// Overhead, what was skipped, notes, the collections as a table, and which program this was.
[[nodiscard]] std::string closing_section(const model::Report& report);

// How many processes saw each finding, and which one first; "" if there is only one process.
// The script puts a strip of the heat map into each row.
[[nodiscard]] std::string ranks_section(const model::Report& report);

}  // namespace cyclewatch::render
