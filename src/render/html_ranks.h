// SPDX-License-Identifier: Apache-2.0
// Findings by processes, for a merged report.
#pragma once

#include <string>

#include "model/report.h"

namespace cyclewatch::render {

// How many processes saw each finding, and which one first; "" if there is only one process.
// The script puts a strip of the heat map into each row.
[[nodiscard]] std::string ranks_section(const model::Report& report);

// "rank 3", or "process 4242" where no rank was set.
[[nodiscard]] std::string process_name(const model::ProgramInfo& program);

}  // namespace cyclewatch::render
