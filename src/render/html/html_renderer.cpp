// SPDX-License-Identifier: Apache-2.0
#include "render/html/html_renderer.h"

#include <algorithm>
#include <cstddef>

#include "base/text.h"
#include "render/html/html_data.h"
#include "render/renderer.h"
#include "render/summary.h"

namespace cyclewatch::render {
namespace {

constexpr std::string_view kFillStart = "<!--fill:";
constexpr std::string_view kFillEnd = "-->";

constexpr std::size_t kLongestSummary = 400;  // columns
// In the text for browsers without scripts.
constexpr std::size_t kMostTextCards = 100;

std::string page_title(const model::Report& report) {
    const std::string script =
        report.processes.empty() ? "" : base::shown_name(report.processes.front().script);
    return base::escape_markup((script.empty() ? "cyclewatch" : script) +
                               ": reference cycles that kept device memory alive");
}

// Escapes each line separately, because escape_markup() replaces line breaks.
std::string escaped_text(std::string_view text) {
    std::string markup;
    for (std::size_t start = 0; start < text.size();) {
        const std::size_t end = std::min(text.find('\n', start), text.size());
        markup += base::escape_markup(text.substr(start, end - start)) + "\n";
        start = end + 1;
    }
    return markup;
}

}  // namespace

std::string fill_shell(std::string_view shell, const PageParts& parts) {
    std::string page;
    while (true) {
        const std::size_t start = shell.find(kFillStart);
        page.append(shell.substr(0, start));
        const std::size_t end =
            start == std::string_view::npos ? start : shell.find(kFillEnd, start);
        if (end == std::string_view::npos) {
            return page;
        }
        const std::size_t name_start = start + kFillStart.size();
        const auto part = parts.find(shell.substr(name_start, end - name_start));
        if (part != parts.end()) {
            page.append(part->second);
        }
        shell.remove_prefix(end + kFillEnd.size());
    }
}

PageParts page_parts(const model::Report& report) {
    const std::string summary = base::clean_text(summary_sentence(report));
    return {{"title", page_title(report)},
            {"summary", base::escape_markup(base::truncate_end(summary, kLongestSummary))},
            {"remedy", base::escape_markup(remedy_sentence(report))},
            {"text", escaped_text(render_text(report, kUsualWidth, kMostTextCards))},
            {"report", report_element(report)},
            {"texts", texts_element(report)}};
}

std::string render_html(const model::Report& report) {
    return fill_shell(page_shell(), page_parts(report));
}

}  // namespace cyclewatch::render
