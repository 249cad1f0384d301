// SPDX-License-Identifier: Apache-2.0
// The list of formats and the one entry point. Reports in, text in memory out: no files, no
// Python, any thread. Everything that came from the program is escaped in every format.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/report.h"

namespace cyclewatch::render {

enum class Format { text, json, dot, svg, html };

// "text", "json", "dot", "svg", "html": the names users write, in this order.
[[nodiscard]] const std::vector<std::string>& format_names();
[[nodiscard]] std::optional<Format> format_from_name(std::string_view name);
// By suffix: .txt .json .dot (or .gv) .svg .html (or .htm), upper or lower case.
[[nodiscard]] std::optional<Format> format_from_path(std::string_view path);
// ".html" and so on.
[[nodiscard]] std::string_view format_suffix(Format format);

// Never fails; throws std::bad_alloc only.
[[nodiscard]] std::string render(const model::Report& report, Format format);

// DOT, one cluster per finding, for the reader's own Graphviz. One call at a time, since cgraph
// keeps process-wide state; a child of fork() finds it free.
[[nodiscard]] std::string render_dot(const model::Report& report);

inline constexpr std::size_t kUsualWidth = 100;  // columns

// The sentence, then cards largest first, then the overhead line and the notes. Pure ASCII apart
// from names that are not; no colours.
[[nodiscard]] std::string render_text(const model::Report& report, std::size_t width = kUsualWidth);

inline constexpr std::size_t kMaxCardLines = 25;

// The card of one finding, at most kMaxCardLines of at most `width` columns, no trailing newline.
[[nodiscard]] std::string render_card(const model::Finding& finding,
                                      std::size_t rank = 1,
                                      std::size_t width = kUsualWidth);

// Reads back what render() wrote as json, or the JSON inside an html report. The error names
// what is wrong and where: not JSON (byte offset), foreign file, newer schema, missing field.
[[nodiscard]] base::Result<model::Report> load_report(std::string_view contents);

}  // namespace cyclewatch::render
