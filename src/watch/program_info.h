// SPDX-License-Identifier: Apache-2.0
// Who is being watched: script, process id, rank, versions. REQUIRES: GIL held.
#pragma once

#include <string>

#include "model/report.h"

namespace cyclewatch::watch {

[[nodiscard]] model::ProgramInfo describe_program();

// "cyclewatch-train-1234", with "-rank3" before the process id where RANK is set.
[[nodiscard]] std::string report_stem(const model::ProgramInfo& program);

}  // namespace cyclewatch::watch
