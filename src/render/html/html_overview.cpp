// SPDX-License-Identifier: Apache-2.0
#include "render/html/html_parts.h"

#include <algorithm>

#include "base/text.h"
#include "render/generations.h"
#include "render/html/html_writer.h"
#include "render/summary.h"
#include "render/svg/svg_renderer.h"

namespace cyclewatch::render {
namespace {

using base::format_bytes;
using model::CollectionRecord;
using model::Finding;
using model::ProcessOccurrences;

constexpr std::size_t kMostBars = 12;  // not collapsed
constexpr std::size_t kMostFoldedBars = 1000;
constexpr std::size_t kMostCollections = 200;  // in the table of collections

std::string bar(std::uint64_t own, std::uint64_t shared, double largest) {
    const double scale = largest > 0 ? 1000 / largest : 0;
    const double own_width = static_cast<double>(own) * scale;
    const double shared_width = static_cast<double>(shared) * scale;
    return "<svg class=\"bar\" viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\" "
           "aria-hidden=\"true\">" +
           svg_rectangle("room", 0, 0, 1000, 10) + svg_rectangle("own", 0, 0, own_width, 10) +
           svg_rectangle("shared", own_width, 0, shared_width, 10) + "</svg>";
}

std::string collection_row(const CollectionRecord& record) {
    const auto number = [](const std::string& text) { return element("td", "number", text); };
    return "<tr>" + number(base::format_count(record.number)) +
           element("td", "", record.scan ? "scan" : "collection") +
           number(std::to_string(record.generation)) +
           number(base::format_duration(record.started_at)) +
           number(base::format_duration(record.duration)) +
           number(base::format_duration(record.own_seconds)) +
           number(base::format_count(record.unreachable)) +
           number(base::format_count(record.owners)) + number(format_bytes(record.released_bytes)) +
           element("td", "", base::truncate_end(base::clean_text(record.note), 200)) + "</tr>\n";
}

std::string bar_entry(const model::Finding& finding, std::size_t index, double largest) {
    const std::string number = std::to_string(index + 1);
    const std::string label = base::truncate_middle(base::shown_name(finding.title), 90);
    const bool is_new = finding.status == model::Status::fresh;
    std::string out = "<li data-finding=\"" + std::to_string(index) + "\"";
    out.append(is_new ? "" : " class=\"not-new\"").append("><a href=\"#finding-").append(number);
    out.append("\">").append(element("span", "rank", number));
    out.append(element("span", "label", label));
    out.append(bar(finding.retained_bytes, finding.shared_bytes, largest));
    return out.append(element("span", "bytes", format_bytes(model::reached_bytes(finding))))
        .append("</a></li>\n");
}

// Lists the findings [first, last).
std::string bar_list(const model::Report& report,
                     std::size_t first,
                     std::size_t last,
                     double largest) {
    std::string out = "<ol class=\"bars\" data-findings=\"\">\n";
    for (std::size_t i = first; i < last; ++i) {
        out += bar_entry(report.findings[i], i, largest);
    }
    return out + "</ol>\n";
}

// "1 collection that freed device memory, and 50 scans that found such memory".
std::string searches_of(const model::Report& report) {
    const auto scans = static_cast<std::uint64_t>(
        std::ranges::count_if(report.collections, &CollectionRecord::scan));
    const std::uint64_t collections = report.collections.size() - scans;
    std::string text;
    if (collections > 0) {
        text = base::counted(collections, "collection") + " that freed device memory";
    }
    if (scans > 0) {
        text += (text.empty() ? "" : ", and ") + base::counted(scans, "scan") +
                " that found unreachable device memory";
    }
    return text;
}

std::string collection_table(const model::Report& report) {
    if (report.collections.empty()) {
        return {};
    }
    const std::size_t shown = std::min(report.collections.size(), kMostCollections);
    std::string rows;
    for (std::size_t i = report.collections.size() - shown; i < report.collections.size(); ++i) {
        rows += collection_row(report.collections[i]);
    }
    std::string head;
    const auto add = [&head](const char* title, bool is_number) {
        head.append("<th scope=\"col\"").append(is_number ? " class=\"number\">" : ">");
        head.append(title).append("</th>");
    };
    add("Number", true);
    add("Kind", false);
    for (const char* title :
         {"Generation", "Start", "Duration", "Overhead", "Unreachable", "Owners", "Bytes"}) {
        add(title, true);
    }
    add("Note", false);
    std::string out = "<details><summary>" + searches_of(report) + "</summary>\n" +
                      scrolling_table(
                          "Collections and scans that found unreachable owners of device memory. A "
                          "collection frees these bytes, a scan does not.",
                          head,
                          rows);
    const std::uint64_t older = report.collections.size() - shown;
    if (older > 0) {
        out += element("p", "more", base::counted(older, "earlier row") + " not shown");
    }
    return out + "</details>\n";
}

std::string generation_row(const model::GenerationTotals& totals, bool examined) {
    const auto number = [](const std::string& text) { return element("td", "number", text); };
    return "<tr><th scope=\"row\">" + std::to_string(totals.generation) + "</th>" +
           number(base::format_count(totals.collections)) +
           number(base::format_count(totals.freeing)) + number(format_bytes(totals.freed_bytes)) +
           number(base::format_duration(totals.seconds)) +
           number(base::format_percent(totals.share)) +
           (examined ? number(base::format_count(totals.examined)) : "") +
           number(base::format_count(totals.reclaimed)) + "</tr>\n";
}

constexpr std::size_t kMostRankRows = 300;

// The process in which the finding first occurred. Compares step numbers if they are known, because
// each process measures time from a different starting point.
const ProcessOccurrences* first_occurrence(const Finding& finding) {
    const auto earlier = [](const ProcessOccurrences& a, const ProcessOccurrences& b) {
        const bool both = a.first_step >= 0 && b.first_step >= 0;
        return both && a.first_step != b.first_step ? a.first_step < b.first_step
                                                    : a.first_seen < b.first_seen;
    };
    const auto found =
        std::min_element(finding.by_process.begin(), finding.by_process.end(), earlier);
    return found == finding.by_process.end() ? nullptr : &*found;
}

std::string row(const model::Report& report, std::size_t index) {
    const Finding& finding = report.findings[index];
    const std::string number = std::to_string(index + 1);
    const ProcessOccurrences* first = first_occurrence(finding);
    const bool known = first != nullptr && first->process < report.processes.size();
    std::string step;
    if (first != nullptr && first->first_step >= 0) {
        step = base::format_count(static_cast<std::uint64_t>(first->first_step));
    }
    return "<tr data-finding=\"" + std::to_string(index) +
           "\"><th scope=\"row\"><a href=\"#finding-" + number + "\">" +
           element("span", "rank", number) + " " +
           code(base::truncate_middle(base::shown_name(finding.title), 40)) + "</a></th>" +
           element("td",
                   "number",
                   base::format_count(finding.by_process.size()) + " of " +
                       base::format_count(report.processes.size())) +
           element("td", "", known ? process_name(report.processes[first->process]) : "") +
           element("td", "number", step) +
           element(
               "td", "number", first == nullptr ? "" : base::format_duration(first->first_seen)) +
           "</tr>\n";
}

}  // namespace

std::string process_name(const model::ProgramInfo& program) {
    return program.rank >= 0 ? "rank " + std::to_string(program.rank)
                             : "process " + std::to_string(program.pid);
}

std::string finding_bars(const model::Report& report) {
    if (report.findings.empty()) {
        return {};
    }
    double largest = 0;
    bool any_shared = false;
    for (const model::Finding& finding : report.findings) {
        largest = std::max(largest,
                           static_cast<double>(finding.retained_bytes) +
                               static_cast<double>(finding.shared_bytes));
        any_shared = any_shared || finding.shared_bytes > 0;
    }
    const std::size_t total = report.findings.size();
    const std::size_t first = std::min(total, kMostBars);
    std::string out =
        "<nav aria-label=\"Findings, largest first\">\n" + bar_list(report, 0, first, largest);
    if (first < total) {
        const std::size_t last = std::min(total, kMostFoldedBars);
        out += "<details data-foldable=\"\"><summary>and " +
               base::counted(total - first, "smaller finding") + "</summary>\n" +
               bar_list(report, first, last, largest) + "</details>\n";
    }
    if (any_shared) {
        out +=
            "<p class=\"key-line\"><span class=\"key own\">retained by this finding</span> "
            "<span class=\"key shared\">shared with other objects</span></p>\n";
    }
    return out + "</nav>\n";
}

std::string generations_section(const model::Report& report) {
    const std::string sentence = collections_sentence(report);
    if (sentence.empty()) {
        return {};
    }
    const bool examined = std::ranges::any_of(
        report.stats.generations, [](const auto& totals) { return totals.examined > 0; });
    std::string rows;
    for (const model::GenerationTotals& each : report.stats.generations) {
        rows += generation_row(each, examined);
    }
    std::string head = "<th scope=\"col\">Generation</th>";
    const auto add = [&head](const char* title) {
        head.append("<th scope=\"col\" class=\"number\">").append(title).append("</th>");
    };
    for (const char* title :
         {"Collections", "Freed device memory", "Bytes", "Time", "Share of the run"}) {
        add(title);
    }
    if (examined) {
        add("Objects examined");
    }
    add("Objects reclaimed");
    return "<section id=\"generations\" class=\"panel\" aria-labelledby=\"generations-title\">"
           "<header><h2 id=\"generations-title\">Does this run need garbage collection?</h2>"
           "</header>\n" +
           element("p", "", sentence) + "\n" +
           scrolling_table("Collections by generation", head, rows) + "</section>\n";
}

std::string closing_section(const model::Report& report) {
    std::string out = "<footer>\n" + element("p", "overhead", overhead_sentence(report)) + "\n";
    const std::vector<std::string> lines = omissions(report);
    if (!lines.empty()) {
        out += "<ul class=\"notes\" aria-label=\"Notes\">\n";
        for (const std::string& line : lines) {
            out += element("li", "", base::truncate_end(base::clean_text(line), 400)) + "\n";
        }
        out += "</ul>\n";
    }
    return out + collection_table(report) +
           element(
               "p", "", base::truncate_end(base::clean_text(program_line(report.processes)), 600)) +
           "\n<div id=\"settings\" hidden=\"\"></div>\n</footer>\n";
}

std::string ranks_section(const model::Report& report) {
    if (report.processes.size() < 2 || report.findings.empty()) {
        return {};
    }
    std::string rows;
    const std::size_t shown = std::min(report.findings.size(), kMostRankRows);
    for (std::size_t i = 0; i < shown; ++i) {
        rows += row(report, i);
    }
    std::string out =
        "<section id=\"ranks\" class=\"panel\" aria-labelledby=\"ranks-title\"><header><h2 "
        "id=\"ranks-title\">Findings by process</h2></header>\n<div class=\"scroll\" "
        "role=\"region\" tabindex=\"0\" aria-labelledby=\"ranks-title\"><table>\n"
        "<thead><tr><th scope=\"col\">Finding</th><th scope=\"col\" class=\"number\">Processes"
        "</th><th scope=\"col\">First seen in</th><th scope=\"col\" class=\"number\">Step</th>"
        "<th scope=\"col\" class=\"number\">Time</th></tr></thead>\n"
        "<tbody data-findings=\"\">\n";
    out.append(rows).append("</tbody></table></div>\n");
    if (shown < report.findings.size()) {
        out += element(
            "p", "more", "and " + base::counted(report.findings.size() - shown, "smaller finding"));
    }
    return out + "</section>\n";
}

}  // namespace cyclewatch::render
