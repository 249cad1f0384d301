// SPDX-License-Identifier: Apache-2.0
// The machine format; docs/formats/report_json.md describes it. Pure ASCII: everything else is
// written as \u escapes, so that no viewer is fooled by what a program calls its types.
#pragma once

#include <string>

#include "model/report.h"

namespace cyclewatch::render {

// Everything the report holds. `indent` < 0: on one line.
[[nodiscard]] std::string render_json(const model::Report& report, int indent = 2);

// The same on one line, and safe inside an HTML <script> element: no '<', '>' or '&' in it.
[[nodiscard]] std::string render_script_safe_json(const model::Report& report);

// The same on one line, occurrences by process as columns: what a page packs. Shorter and quicker
// to read, but no interchange format.
[[nodiscard]] std::string render_json_to_pack(const model::Report& report);

}  // namespace cyclewatch::render
