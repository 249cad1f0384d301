// SPDX-License-Identifier: Apache-2.0
// Embeds the report in its HTML page as JSON, compressed if it is large. In the browser,
// viewer/src/report/read.ts reads the JSON.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/report.h"

namespace cyclewatch::render {

// A report whose JSON is longer than this number of bytes is packed: by_process is stored in
// columns, and the JSON is compressed with gzip and encoded as base64.
inline constexpr std::size_t kLongestPlainJson = std::size_t{512} * 1024;
// Size limit that protects against decompression bombs.
inline constexpr std::size_t kLongestUnpackedJson = std::size_t{1} << 30;

// The <script> element with the report. Browsers do not execute it.
[[nodiscard]] std::string report_element(const model::Report& report);

// The <script> element with page_texts(). Long texts are compressed, like a report.
[[nodiscard]] std::string texts_element(const model::Report& report);

// The JSON of the report in a page.
[[nodiscard]] base::Result<std::string> find_embedded_report(std::string_view page);

// Compresses `text` with gzip and encodes the result as base64.
[[nodiscard]] std::string pack(std::string_view text);

// Reverses pack(). Fails if the input is invalid or the result would be longer than `most` bytes.
[[nodiscard]] base::Result<std::string> unpack(std::string_view packed, std::size_t most);

}  // namespace cyclewatch::render
