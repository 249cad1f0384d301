// SPDX-License-Identifier: Apache-2.0
// The report itself, riding along in its page as JSON: plain while it is small, packed where it
// would make the file heavy. viewer/src/report/read.ts is the other end in a browser.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/report.h"

namespace cyclewatch::render {

// JSON longer than this is packed: occurrences by process as columns, gzip, then base64.
inline constexpr std::size_t kLongestPlainJson = std::size_t{512} * 1024;
// What a packed report may grow to; a file that claims more is an attack.
inline constexpr std::size_t kLongestUnpackedJson = std::size_t{1} << 30;

// The <script> element that holds the report. Browsers do not run it.
[[nodiscard]] std::string report_element(const model::Report& report);

struct EmbeddedReport {
    std::string json;
    std::size_t offset = 0;  // of `json` in the page; 0 if it was packed
};

// True if the first visible character opens a tag: then it is no JSON.
[[nodiscard]] bool looks_like_html(std::string_view contents);

[[nodiscard]] base::Result<EmbeddedReport> find_embedded_report(std::string_view page);

// Text as gzip as base64: a tenth of the size, and still text.
[[nodiscard]] std::string pack(std::string_view text);

// Fails on what pack() never wrote, and on what grows longer than `most`.
[[nodiscard]] base::Result<std::string> unpack(std::string_view packed, std::size_t most);

}  // namespace cyclewatch::render
