// SPDX-License-Identifier: Apache-2.0
// Reads a report as write_json() writes it, without building a document first. This is what makes
// merging the reports of a thousand ranks a matter of seconds.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "model/report.h"

namespace cyclewatch::format {

// Returns the report, whose indexes are not checked, or nothing if `text` is invalid or differs
// from what write_json() writes, for example because it repeats a field or has non-ASCII
// characters. The caller must then parse the document, which also names the problem. Throws only
// std::bad_alloc.
[[nodiscard]] std::optional<model::Report> read_directly(std::string_view text);

// Returns the processes of a report, of which `start` is the beginning, or nothing if the report
// does not begin like one that write_json() writes, or if `start` ends before the processes do.
[[nodiscard]] std::optional<std::vector<model::ProgramInfo>> read_processes(std::string_view start);

}  // namespace cyclewatch::format
