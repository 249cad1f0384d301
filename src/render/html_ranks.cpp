// SPDX-License-Identifier: Apache-2.0
#include "render/html_ranks.h"

#include <algorithm>

#include "render/html_writer.h"
#include "render/labels.h"
#include "render/summary.h"

namespace cyclewatch::render {
namespace {

using model::Finding;
using model::Sighting;

constexpr std::size_t kMostRows = 300;

// The process that saw the finding first: by step where the program named steps, since clocks of
// different processes start at different times.
const Sighting* first_sighting(const Finding& finding) {
    const auto earlier = [](const Sighting& a, const Sighting& b) {
        const bool both = a.first_step >= 0 && b.first_step >= 0;
        return both && a.first_step != b.first_step ? a.first_step < b.first_step
                                                    : a.first_seen < b.first_seen;
    };
    const auto found =
        std::min_element(finding.sightings.begin(), finding.sightings.end(), earlier);
    return found == finding.sightings.end() ? nullptr : &*found;
}

std::string row(const model::Report& report, std::size_t index) {
    const Finding& finding = report.findings[index];
    const std::string number = std::to_string(index + 1);
    const Sighting* first = first_sighting(finding);
    const bool known = first != nullptr && first->process < report.processes.size();
    std::string step;
    if (first != nullptr && first->first_step >= 0) {
        step = format_count(static_cast<std::uint64_t>(first->first_step));
    }
    return "<tr data-finding=\"" + std::to_string(index) +
           "\"><th scope=\"row\"><a href=\"#finding-" + number + "\">" +
           element("span", "rank", number) + " " +
           code(truncate_middle(shown_name(finding.title), 40)) + "</a></th>" +
           element("td",
                   "number",
                   format_count(finding.sightings.size()) + " of " +
                       format_count(report.processes.size())) +
           element("td", "", known ? process_name(report.processes[first->process]) : "") +
           element("td", "number", step) +
           element("td", "number", first == nullptr ? "" : format_duration(first->first_seen)) +
           "</tr>\n";
}

}  // namespace

std::string process_name(const model::ProgramInfo& program) {
    return program.rank >= 0 ? "rank " + std::to_string(program.rank)
                             : "process " + std::to_string(program.pid);
}

std::string ranks_section(const model::Report& report) {
    if (report.processes.size() < 2 || report.findings.empty()) {
        return {};
    }
    std::string rows;
    const std::size_t shown = std::min(report.findings.size(), kMostRows);
    for (std::size_t i = 0; i < shown; ++i) {
        rows += row(report, i);
    }
    std::string out =
        "<section id=\"ranks\" class=\"panel\" aria-labelledby=\"ranks-title\"><header><h2 "
        "id=\"ranks-title\">Which processes saw it</h2></header>\n<div class=\"scroll\" "
        "role=\"region\" tabindex=\"0\" aria-labelledby=\"ranks-title\"><table>\n"
        "<thead><tr><th scope=\"col\">Finding</th><th scope=\"col\" class=\"number\">Seen by"
        "</th><th scope=\"col\">First on</th><th scope=\"col\" class=\"number\">Step</th>"
        "<th scope=\"col\" class=\"number\">After</th></tr></thead>\n"
        "<tbody data-findings=\"\">\n";
    out.append(rows).append("</tbody></table></div>\n");
    if (shown < report.findings.size()) {
        out += element(
            "p", "more", "and " + counted(report.findings.size() - shown, "lighter finding"));
    }
    return out + "</section>\n";
}

}  // namespace cyclewatch::render
