// SPDX-License-Identifier: Apache-2.0
// Reads and writes reports as JSON. docs/formats/report_json.md describes the format. The output is
// ASCII. Names from the watched program may contain non-ASCII characters, which are written as \u
// escapes.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/report.h"

namespace cyclewatch::format {

// The complete report. `indent` < 0: on one line.
[[nodiscard]] std::string write_json(const model::Report& report, int indent = 2);

// `json` with '<', '>' and '&' escaped for an HTML <script> element.
[[nodiscard]] std::string script_safe(std::string_view json);

// The report on one line. `by_process` is stored in columns, so that the output is smaller and
// faster to parse. Used only for HTML pages that contain the report in compressed form.
[[nodiscard]] std::string write_json_to_pack(const model::Report& report);

// Parses a document that write_json() wrote. The input is untrusted, so the result is either a
// valid report or an error that states the problem and its location. Throws only std::bad_alloc.
[[nodiscard]] base::Result<model::Report> read_json_report(std::string_view text);

}  // namespace cyclewatch::format
