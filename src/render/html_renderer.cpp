// SPDX-License-Identifier: Apache-2.0
#include "render/html_renderer.h"

#include "render/assets/page_style.h"
#include "render/html_finding.h"
#include "render/html_overview.h"
#include "render/html_reader.h"
#include "render/html_writer.h"
#include "render/json_renderer.h"
#include "render/labels.h"
#include "render/ring_picture.h"
#include "render/summary.h"
#include "render/svg_numbers.h"
#include "render/svg_renderer.h"

namespace cyclewatch::render {
namespace {

// Cards beyond these would only make the page slow; they are in its JSON all the same.
constexpr std::size_t kMostCards = 100;

// Nothing may be loaded and nothing may run, even if an escape were ever forgotten.
constexpr std::string_view kSecurityPolicy =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

// A drawing wider than this would be unreadable beside the advice.
constexpr double kWidestBeside = 740;

std::string card_of(const model::Finding& finding, std::size_t rank) {
    const RingDrawing ring = draw_ring(finding, rank);
    if (!ring.svg.empty()) {
        return finding_card(finding, rank, ring.svg, ring.width > kWidestBeside);
    }
    if (finding.picture.items.empty()) {
        const auto none = element("p", "quiet", "No picture was recorded for this loop.");
        return finding_card(finding, rank, none, false);
    }
    const auto drawing = draw_picture(finding, rank);
    if (!drawing) {
        const auto reason = "The picture could not be drawn: " + drawing.error();
        return finding_card(finding, rank, element("p", "quiet", reason), false);
    }
    const Drawing& drawn = drawing.value();
    const std::string width = svg_number(drawn.width);
    const std::string height = svg_number(drawn.height);
    const std::string svg = "<svg class=\"graph\" role=\"img\" aria-label=\"" +
                            escape_markup(describe_picture(finding)) + "\" width=\"" + width +
                            "\" height=\"" + height + "\" viewBox=\"" + svg_number(drawn.left) +
                            " " + svg_number(drawn.top) + " " + width + " " + height + "\">\n" +
                            drawn.body + "</svg>\n";
    return finding_card(finding, rank, svg, drawn.width > kWidestBeside);
}

std::string head(const model::Report& report) {
    const std::string named = report.processes.empty() ? "" : report.processes.front().script;
    const std::string script = named.empty() ? "cyclewatch" : shown_name(named);
    std::string out =
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"";
    out.append(kSecurityPolicy);
    out +=
        "\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n"
        "<meta name=\"referrer\" content=\"no-referrer\">\n<title>" +
        escape_markup(script) + ": reference loops that kept device memory</title>\n<style>\n";
    return out.append(kPageStyle).append("</style>\n</head>\n");
}

std::string program_facts(const model::Report& report) {
    std::string facts = element("b", "", "cyclewatch");
    if (report.processes.size() != 1) {
        return facts + " " + element("span", "", shown_name(program_line(report.processes)));
    }
    const model::ProgramInfo& program = report.processes.front();
    if (!program.script.empty()) {
        facts += " " + element("span", "", shown_name(program.script));
    }
    if (program.rank >= 0) {
        facts += " " + element("span", "", "rank " + std::to_string(program.rank));
    }
    facts += " " + element("span", "", "process " + std::to_string(program.pid));
    if (!program.started_at.empty()) {
        facts += " " + element("span", "", shown_name(program.started_at));
    }
    return facts;
}

std::string opening(const model::Report& report) {
    std::string out =
        "<header class=\"opening\">\n" + wrap_markup("p", "program", program_facts(report)) + "\n" +
        element("h1", "", truncate_end(clean_text(summary_sentence(report)), 400)) + "\n";
    const std::string remedy = remedy_sentence(report);
    if (!remedy.empty()) {
        out += element("p", "lead", remedy) + "\n";
    }
    return out + finding_bars(report) + "</header>\n";
}

std::string cards(const model::Report& report) {
    std::string out;
    const std::size_t shown = std::min(report.findings.size(), kMostCards);
    for (std::size_t i = 0; i < shown; ++i) {
        out += card_of(report.findings[i], i + 1);
    }
    if (shown < report.findings.size()) {
        out += element("p",
                       "more",
                       counted(report.findings.size() - shown, "lighter finding") +
                           " not shown here; the report as JSON holds all of them.");
    }
    return out;
}

}  // namespace

std::string render_html(const model::Report& report) {
    std::string page = head(report) + "<body>\n<main>\n" + opening(report) + cards(report) +
                       collection_section(report) + closing_section(report) + "</main>\n";
    page.append(kReportScriptStart).append(render_script_safe_json(report));
    page.append(kReportScriptEnd).append("\n</body>\n</html>\n");
    return page;
}

}  // namespace cyclewatch::render
