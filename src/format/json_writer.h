// SPDX-License-Identifier: Apache-2.0
// The JSON format; docs/formats/report_json.md describes it. ASCII only: all other characters are
// written as \u escapes, because names come from the watched program.
#pragma once

#include <string>

#include "model/report.h"

namespace cyclewatch::format {

// The complete report. `indent` < 0: on one line.
[[nodiscard]] std::string write_json(const model::Report& report, int indent = 2);

// On one line, with '<', '>' and '&' escaped for an HTML <script> element.
[[nodiscard]] std::string write_script_safe_json(const model::Report& report);

// On one line, with by_process stored in columns. Smaller and faster to parse; only for packed
// pages.
[[nodiscard]] std::string write_json_to_pack(const model::Report& report);

}  // namespace cyclewatch::format
