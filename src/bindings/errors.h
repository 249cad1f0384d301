// SPDX-License-Identifier: Apache-2.0
// How an error of ours becomes a Python exception. REQUIRES (everything here): GIL held.
#pragma once

#include <string>

namespace cyclewatch::bindings {

// Raises cyclewatch.errors.ReportFormatError. RUNS PYTHON: possibly (imports the class once).
[[noreturn]] void raise_report_format_error(const std::string& message);

}  // namespace cyclewatch::bindings
