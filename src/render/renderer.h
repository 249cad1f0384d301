// SPDX-License-Identifier: Apache-2.0
// Renders a report in memory: no file access, no Python, thread-safe. All text that comes from the
// watched program is escaped.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/report.h"

namespace cyclewatch::render {

enum class Format { text, json, dot, svg, html };

// "text", "json", "dot", "svg", "html", in this order.
[[nodiscard]] const std::vector<std::string>& format_names();
[[nodiscard]] std::optional<Format> format_from_name(std::string_view name);
// By suffix: .txt, .json, .dot or .gv, .svg, .html or .htm.
[[nodiscard]] std::optional<Format> format_from_path(std::string_view path);
// ".html" and so on.
[[nodiscard]] std::string_view format_suffix(Format format);

// Throws only std::bad_alloc.
[[nodiscard]] std::string render(const model::Report& report, Format format);

// DOT for Graphviz, one cluster for each finding.
[[nodiscard]] std::string render_dot(const model::Report& report);

inline constexpr std::size_t kUsualWidth = 100;  // columns

// Summary, cards (largest first), overhead and notes, without color. ASCII, except for names and
// source code from the program. Counts the findings after the first `most_cards`.
[[nodiscard]] std::string render_text(
    const model::Report& report,
    std::size_t width = kUsualWidth,
    std::size_t most_cards = std::numeric_limits<std::size_t>::max());

inline constexpr std::size_t kMaxCardLines = 25;

// The card of one finding: at most kMaxCardLines lines of at most `width` columns, without a
// trailing newline.
[[nodiscard]] std::string render_card(const model::Finding& finding,
                                      std::size_t rank = 1,
                                      std::size_t width = kUsualWidth);

// Loads a JSON report, or the JSON embedded in an HTML report. The error describes the problem and
// its location: a byte offset if the file is not valid JSON, otherwise the path of the invalid
// field.
[[nodiscard]] base::Result<model::Report> load_report(std::string_view contents);

// The processes of the JSON report that begins with `start`. Returns nothing if the processes are
// not near the beginning, or if the report is a page.
[[nodiscard]] std::optional<std::vector<model::ProgramInfo>> load_processes(std::string_view start);

}  // namespace cyclewatch::render
