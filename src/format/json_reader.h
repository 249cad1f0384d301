// SPDX-License-Identifier: Apache-2.0
// Parses the documents that json_writer writes. The input is untrusted: the result is a valid
// report, or an error with the problem and its location. Throws only std::bad_alloc.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"
#include "model/report.h"

namespace cyclewatch::format {

// `offset`: position of `text` in its file, added to the byte offsets in errors.
[[nodiscard]] base::Result<model::Report> read_json_report(std::string_view text,
                                                           std::size_t offset = 0);

}  // namespace cyclewatch::format
