// SPDX-License-Identifier: Apache-2.0
#include "render/html_overview.h"

#include <algorithm>
#include <cmath>

#include "base/byte_size.h"
#include "render/html_writer.h"
#include "render/labels.h"
#include "render/summary.h"
#include "render/svg_numbers.h"

namespace cyclewatch::render {
namespace {

using base::format_bytes;
using model::CollectionRecord;

constexpr std::size_t kMostBars = 12;
constexpr std::size_t kMostRows = 200;  // of the table of collections; the JSON holds them all
constexpr double kChartWidth = 1000;
constexpr double kChartHeight = 110;

std::string rect(std::string_view style, double x, double y, double width, double height) {
    return "<rect class=\"" + std::string(style) + "\" x=\"" + svg_number(x) + "\" y=\"" +
           svg_number(y) + "\" width=\"" + svg_number(width) + "\" height=\"" + svg_number(height) +
           "\"/>";
}

std::string bar(std::uint64_t own, std::uint64_t shared, double largest) {
    const double scale = largest > 0 ? 1000 / largest : 0;
    const double own_width = static_cast<double>(own) * scale;
    const double shared_width = static_cast<double>(shared) * scale;
    return "<svg class=\"bar\" viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\" "
           "aria-hidden=\"true\">" +
           rect("room", 0, 0, 1000, 10) + rect("own", 0, 0, own_width, 10) +
           rect("shared", own_width, 0, shared_width, 10) + "</svg>";
}

// Bytes released in one slice of the time the watch was on.
std::vector<double> bytes_by_slice(const model::Report& report, double until, std::size_t slices) {
    std::vector<double> bytes(slices, 0);
    for (const CollectionRecord& record : report.collections) {
        const double share = until > 0 ? record.started_at / until : 0;
        const double at =
            std::clamp(std::isfinite(share) ? share : 0.0, 0.0, 1.0) * static_cast<double>(slices);
        bytes[std::min(static_cast<std::size_t>(at), slices - 1)] +=
            static_cast<double>(record.released_bytes);
    }
    return bytes;
}

std::string chart(const model::Report& report) {
    constexpr std::size_t kSlices = 100;
    double until = report.stats.elapsed;
    for (const CollectionRecord& record : report.collections) {
        until = std::max(until, record.started_at);
    }
    const std::vector<double> bytes = bytes_by_slice(report, until, kSlices);
    const double most = *std::max_element(bytes.begin(), bytes.end());
    if (most <= 0) {
        return {};
    }
    std::string bars;
    constexpr double kSlice = kChartWidth / kSlices;
    for (std::size_t i = 0; i < kSlices; ++i) {
        if (bytes[i] > 0) {
            const double height = std::max(2.0, bytes[i] / most * kChartHeight);
            bars += rect("own",
                         static_cast<double>(i) * kSlice + 1,
                         kChartHeight - height,
                         kSlice - 2,
                         height);
        }
    }
    const std::string peak = format_bytes(static_cast<std::uint64_t>(std::min(most, 1.8e19)));
    return "<figure class=\"chart\"><svg class=\"timeline\" role=\"img\" aria-label=\"Bytes "
           "released over time; at most " +
           peak + " in one slice\" viewBox=\"0 0 1000 112\" preserveAspectRatio=\"none\">" + bars +
           rect("axis", 0, kChartHeight, kChartWidth, 1) + "</svg>\n" +
           "<p class=\"axis-labels\"><span>0 s</span><span>highest bar " + peak + "</span><span>" +
           escape_markup(format_duration(until)) + "</span></p></figure>\n";
}

std::string collection_row(const CollectionRecord& record) {
    const auto number = [](const std::string& text) { return element("td", "number", text); };
    return "<tr>" + number(format_count(record.number)) +
           number(std::to_string(record.generation)) + number(format_duration(record.started_at)) +
           number(format_duration(record.duration)) + number(format_duration(record.own_seconds)) +
           number(format_count(record.condemned)) + number(format_count(record.owners)) +
           number(format_bytes(record.released_bytes)) +
           element("td", "", truncate_end(clean_text(record.note), 200)) + "</tr>\n";
}

}  // namespace

std::string finding_bars(const model::Report& report) {
    if (report.findings.empty()) {
        return {};
    }
    double largest = 0;
    bool any_shared = false;
    for (const model::Finding& finding : report.findings) {
        largest = std::max(
            largest,
            static_cast<double>(finding.held_bytes) + static_cast<double>(finding.shared_bytes));
        any_shared = any_shared || finding.shared_bytes > 0;
    }
    std::string out = "<nav aria-label=\"Findings, heaviest first\"><ol class=\"bars\">\n";
    const std::size_t shown = std::min(report.findings.size(), kMostBars);
    for (std::size_t i = 0; i < shown; ++i) {
        const model::Finding& finding = report.findings[i];
        const std::string number = std::to_string(i + 1);
        const std::string label = truncate_middle(shown_name(finding.title), 90);
        out.append("<li><a href=\"#finding-").append(number).append("\">");
        out.append(element("span", "rank", number)).append(element("span", "label", label));
        out.append(bar(finding.held_bytes, finding.shared_bytes, largest));
        out.append(element("span", "bytes", format_bytes(finding.held_bytes)));
        out.append("</a></li>\n");
    }
    out += "</ol>";
    if (shown < report.findings.size()) {
        out += element(
            "p",
            "more",
            "and " + counted(report.findings.size() - shown, "lighter finding") + " further down");
    }
    if (any_shared) {
        out +=
            "<p class=\"key-line\"><span class=\"key own\">held by this loop alone</span> "
            "<span class=\"key shared\">shared with other loops</span></p>";
    }
    return out + "</nav>\n";
}

std::string collection_section(const model::Report& report) {
    if (report.collections.empty()) {
        return {};
    }
    std::string out =
        "<section class=\"card\" aria-labelledby=\"collections\"><h2 id=\"collections\">"
        "When the memory came back</h2>\n<p class=\"quiet\">Each bar is device memory that a "
        "collection had to free because a loop still held it.</p>\n" +
        chart(report);
    const std::size_t shown = std::min(report.collections.size(), kMostRows);
    std::string rows;
    for (std::size_t i = report.collections.size() - shown; i < report.collections.size(); ++i) {
        rows += collection_row(report.collections[i]);
    }
    std::string head;
    for (const char* title : {"Number",
                              "Generation",
                              "At",
                              "Took",
                              "In the watch",
                              "Condemned",
                              "Owners",
                              "Released"}) {
        head.append("<th scope=\"col\" class=\"number\">").append(title).append("</th>");
    }
    head += "<th scope=\"col\">Note</th>";
    out += "<details><summary>" + counted(report.collections.size(), "collection") +
           " that freed device memory</summary>\n" +
           scrolling_table("Collections that condemned an owner of device memory", head, rows);
    const std::uint64_t older = report.collections.size() - shown;
    if (older > 0) {
        out += element("p", "more", counted(older, "earlier record") + " not shown here");
    }
    return out + "</details></section>\n";
}

std::string closing_section(const model::Report& report) {
    std::string out = "<footer>\n" + element("p", "", overhead_sentence(report.stats)) + "\n";
    const std::vector<std::string> lines = omissions(report);
    if (!lines.empty()) {
        out += "<ul class=\"notes\" aria-label=\"Notes\">\n";
        for (const std::string& line : lines) {
            out += element("li", "", truncate_end(clean_text(line), 400)) + "\n";
        }
        out += "</ul>\n";
    }
    return out + element("p", "", truncate_end(clean_text(program_line(report.processes)), 600)) +
           "\n</footer>\n";
}

}  // namespace cyclewatch::render
