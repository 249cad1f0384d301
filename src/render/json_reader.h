// SPDX-License-Identifier: Apache-2.0
// Reads back what json_renderer wrote. The file may come from anywhere: whatever is in it, the
// answer is a report or an error that says what is wrong and where. Throws only std::bad_alloc.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"
#include "model/report.h"

namespace cyclewatch::render {

// `offset`: where `text` begins in its file; added to the byte offsets of errors.
[[nodiscard]] base::Result<model::Report> read_json_report(std::string_view text,
                                                           std::size_t offset = 0);

}  // namespace cyclewatch::render
