// SPDX-License-Identifier: Apache-2.0
// The parts of the page about all findings: sizes, findings by process, overhead, collections.
#pragma once

#include <string>

#include "model/report.h"

namespace cyclewatch::render {

// One bar for each finding, with its retained and shared bytes.
[[nodiscard]] std::string finding_bars(const model::Report& report);

// Whether the run needs garbage collection, and the collections by generation; "" if there were
// none.
[[nodiscard]] std::string generations_section(const model::Report& report);

// Overhead, skipped collections, notes, the table of collections, and the program.
[[nodiscard]] std::string closing_section(const model::Report& report);

// The number of processes in which each finding occurred, and the first of them; "" if there is
// only one process. The script adds a heat map to each row.
[[nodiscard]] std::string ranks_section(const model::Report& report);

}  // namespace cyclewatch::render
