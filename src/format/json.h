// SPDX-License-Identifier: Apache-2.0
// The JSON format; docs/formats/report_json.md describes it. ASCII only: all other characters are
// written as \u escapes, because names come from the watched program.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/report.h"

namespace cyclewatch::format {

// The complete report. `indent` < 0: on one line.
[[nodiscard]] std::string write_json(const model::Report& report, int indent = 2);

// On one line, with '<', '>' and '&' escaped for an HTML <script> element.
[[nodiscard]] std::string write_script_safe_json(const model::Report& report);

// On one line, with by_process stored in columns: smaller and faster to parse. Used only for HTML
// pages that contain the report in compressed form.
[[nodiscard]] std::string write_json_to_pack(const model::Report& report);

// Parses a document that write_json() wrote. The input is untrusted: the result is a valid report,
// or an error with the problem and its location. Throws only std::bad_alloc. `offset`: position of
// `text` in its file, added to the byte offsets in errors.
[[nodiscard]] base::Result<model::Report> read_json_report(std::string_view text,
                                                           std::size_t offset = 0);

}  // namespace cyclewatch::format
