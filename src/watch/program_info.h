// SPDX-License-Identifier: Apache-2.0
// Properties of this process and its modules. REQUIRES: GIL held. RUNS PYTHON: never.
#pragma once

#include <string>

#include "model/report.h"
#include "watch/clock.h"

namespace cyclewatch::watch {

// ProgramInfo::host of a program on this machine: a hash of the name of the machine, as 16
// hexadecimal digits; "" if the name is unknown.
[[nodiscard]] std::string machine();

// `started`: when the watch started. The rank may become known later (job_rank()).
[[nodiscard]] model::ProgramInfo describe_program(Clock::time_point started = Clock::now());

// "cyclewatch-train-1234", or "cyclewatch-train-rank3-1234" if the rank is known.
[[nodiscard]] std::string report_stem(const model::ProgramInfo& program);

// `__version__` of the module `package`; "" if the module is not imported or has no version.
[[nodiscard]] std::string loaded_version(const std::string& package);

}  // namespace cyclewatch::watch
