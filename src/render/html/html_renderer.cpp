// SPDX-License-Identifier: Apache-2.0
#include "render/html/html_renderer.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/text.h"
#include "render/html/html_data.h"
#include "render/html/html_parts.h"
#include "render/html/html_writer.h"
#include "render/summary.h"
#include "render/svg/svg_renderer.h"

namespace cyclewatch::render {
namespace {

constexpr std::string_view kFillStart = "<!--fill:";
constexpr std::string_view kFillEnd = "-->";

// Target size of a page. To stay below this size, the renderer first omits pictures, and then the
// cards of the smallest findings. The embedded JSON always contains all findings.
constexpr std::size_t kMostPageBytes = 4'700'000;
constexpr std::size_t kRoomForCards = 600'000;  // minimum, however large the JSON is
constexpr double kShareWithPictures = 0.8;

// Cards beyond this number use CardWeight::light, because rendering a thousand complete cards would
// block the browser.
constexpr std::size_t kMostWholeCards = 20;

// The maximum width of a drawing in a column beside the advice; a wider drawing would be scaled
// down too much.
constexpr double kWidestBeside = 740;

CardPicture no_picture(std::string_view reason) {
    return {element("p", "quiet", reason), false};
}

CardPicture picture_of(const model::Finding& finding, std::size_t rank) {
    Drawing drawing = draw_picture(finding.picture, rank);
    if (drawing.svg.empty()) {
        return no_picture(finding.picture.items.empty() ? "No diagram was recorded for this cycle."
                                                        : kNotLaidOut);
    }
    return {std::move(drawing.svg), drawing.width > kWidestBeside};
}

std::string page_title(const model::Report& report) {
    const std::string script =
        report.processes.empty() ? "" : base::shown_name(report.processes.front().script);
    return base::escape_markup((script.empty() ? "cyclewatch" : script) +
                               ": reference cycles that kept device memory alive");
}

std::string program_facts(const model::Report& report) {
    std::string facts = element("b", "", "cyclewatch");
    const auto add = [&facts](const std::string& fact) {
        if (!fact.empty()) {
            facts += " " + element("span", "", fact);
        }
    };
    if (report.processes.size() != 1) {
        add(base::shown_name(program_line(report.processes)));
        return facts;
    }
    const model::ProgramInfo& program = report.processes.front();
    add(base::shown_name(program.script));
    if (program.rank >= 0) {
        add("rank " + std::to_string(program.rank));
    }
    add("process " + std::to_string(program.pid));
    add(base::shown_name(program.started_at));
    return facts;
}

std::string opening(const model::Report& report) {
    std::string out =
        "<header class=\"opening\">\n" + wrap_markup("p", "program", program_facts(report)) + "\n" +
        element("h1", "", base::truncate_end(base::clean_text(summary_sentence(report)), 400)) +
        "\n";
    const std::string remedy = remedy_sentence(report);
    if (!remedy.empty()) {
        out += element("p", "lead", remedy) + "\n";
    }
    return out + "</header>\n";
}

// Cards in three groups: new findings, those of them that are never freed, and all others.
class Cards {
  public:
    // `room`: maximum size of all cards in bytes.
    Cards(const model::Report& report, std::size_t room) : report_(report), room_(room) {}

    std::string render() {
        std::string out = group(
            [](const auto& finding) {
                return finding.status == model::Status::fresh && !is_never_freed(finding);
            },
            "<section class=\"new\" aria-label=\"Findings\">\n");
        out += group(is_never_freed,
                     "<section class=\"new never-freed\" aria-labelledby=\"never-freed\">"
                     "<h2 id=\"never-freed\">Never freed</h2>\n" +
                         element("p", "", kNeverFreedSentence) + "\n");
        out += group([](const auto& finding) { return finding.status != model::Status::fresh; },
                     "<section class=\"not-new\" data-foldable=\"\" aria-labelledby=\"not-new\">"
                     "<h2 id=\"not-new\">Not new</h2>\n<p>Known, library, benign and ignored "
                     "findings. They cause no warnings and no failures.</p>\n");
        if (left_out_ > 0) {
            out += element("p",
                           "more",
                           base::counted(left_out_, "smaller finding") +
                               " not shown here; the JSON report has all findings.");
        }
        return out;
    }

  private:
    std::string group(const std::function<bool(const model::Finding&)>& belongs,
                      std::string_view start) {
        std::string cards;
        for (std::size_t i = 0; i < report_.findings.size(); ++i) {
            const model::Finding& finding = report_.findings[i];
            if (!belongs(finding)) {
                continue;
            }
            if (size_ > room_) {
                ++left_out_;
                continue;
            }
            const bool with_picture =
                static_cast<double>(size_) < kShareWithPictures * static_cast<double>(room_);
            const std::string card =
                finding_card(finding,
                             i + 1,
                             with_picture ? picture_of(finding, i + 1)
                                          : no_picture("Diagram omitted to keep this file small."),
                             shown_++ < kMostWholeCards ? CardWeight::whole : CardWeight::light);
            size_ += card.size();
            cards += card;
        }
        return cards.empty() ? std::string()
                             : std::string(start) + "<div data-findings=\"\">\n" + cards +
                                   "</div>\n</section>\n";
    }

    const model::Report& report_;
    std::size_t room_;
    std::size_t size_ = 0;
    std::size_t shown_ = 0;
    std::size_t left_out_ = 0;
};

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
    PageParts parts{{"title", page_title(report)},
                    {"opening", opening(report)},
                    {"bars", finding_bars(report) + devices_section(report)},
                    {"ranks", ranks_section(report)},
                    {"live", live_view(report)},
                    {"closing", generations_section(report) + closing_section(report)},
                    {"report", report_element(report)}};
    std::size_t used = page_shell().size();
    for (const auto& [name, part] : parts) {
        used += part.size();
    }
    const std::size_t room = kMostPageBytes - std::min(kMostPageBytes, used);
    parts["findings"] = Cards(report, std::max(room, kRoomForCards)).render();
    return parts;
}

std::string render_html(const model::Report& report) {
    return fill_shell(page_shell(), page_parts(report));
}

}  // namespace cyclewatch::render
