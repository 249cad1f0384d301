// SPDX-License-Identifier: Apache-2.0
// Finds the report inside a page that html_renderer wrote.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"

namespace cyclewatch::render {

// The element that html_renderer puts the JSON into; spelled in one place for both.
inline constexpr std::string_view kReportScriptStart =
    R"(<script type="application/json" id="cyclewatch-report">)";
inline constexpr std::string_view kReportScriptEnd = "</script>";

struct EmbeddedReport {
    std::string_view json;
    std::size_t offset = 0;  // of `json` in the page
};

// True if the first visible character opens a tag: then it is no JSON.
[[nodiscard]] bool looks_like_html(std::string_view contents);

[[nodiscard]] base::Result<EmbeddedReport> find_embedded_report(std::string_view page);

}  // namespace cyclewatch::render
