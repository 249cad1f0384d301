// SPDX-License-Identifier: Apache-2.0
// Renders a self-contained page: viewer/shell.html with the report as JSON, which its script draws.
// Without scripts, the page shows the text report. The page makes no network requests.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "model/report.h"

namespace cyclewatch::render {

// Maps the name of each placeholder to its content: "title", "summary", "remedy" and "text"
// (escaped text), "report" and "texts" (markup).
using PageParts = std::map<std::string, std::string, std::less<>>;

// viewer/shell.html, embedded at build time.
[[nodiscard]] std::string_view page_shell();

// Replaces placeholders such as `<!--fill:summary-->`. Unknown placeholders are removed.
[[nodiscard]] std::string fill_shell(std::string_view shell, const PageParts& parts);

// The parts that render_html() inserts into the shell.
[[nodiscard]] PageParts page_parts(const model::Report& report);

[[nodiscard]] std::string render_html(const model::Report& report);

}  // namespace cyclewatch::render
