// SPDX-License-Identifier: Apache-2.0
#include "render/renderer.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "model/cycle_gap.h"
#include "render/alignment.h"
#include "render/device_text.h"
#include "render/generations.h"
#include "render/summary.h"
#include "render/text/card.h"
#include "render/text/cut_lines.h"

namespace cyclewatch::render {
namespace {

using base::format_bytes;
using model::Finding;
using model::Reference;

// Maximum number of lines of each section. Together, the sections stay within kMaxCardLines.
constexpr std::size_t kTitleLines = 2;   // one line fewer on a compact card
constexpr std::size_t kAdviceLines = 7;  // one line fewer on a compact card
constexpr std::size_t kNoteLines = 2;    // instead of alternatives
constexpr std::size_t kCostLines = 2;    // one line fewer on a compact card
constexpr std::size_t kVariants = 6;
constexpr std::size_t kVariantLines = 2;  // one line fewer on a compact card
constexpr std::size_t kCycleLines = 6;    // one line fewer on a compact card
constexpr std::size_t kMostLiveOwners = 10;
constexpr std::size_t kLeastPath = 16;  // columns of a path beside its allocation site

void add_heading(Card& card, const Finding& finding, std::size_t rank) {
    std::string heading = "#" + std::to_string(rank);
    heading.resize(std::max(heading.size() + 1, kIndent), ' ');
    heading += size_words(finding);
    if (!finding.pattern.empty() && finding.pattern != "unknown") {
        heading += "   [" + base::shown_name(finding.pattern) + "]";
    }
    card.push(heading);
    const std::string title =
        base::truncate_middle(base::clean_text(finding.title), 2 * card.width());
    for (const std::string& line :
         base::wrap_text(title, card.width() - kIndent, card.at_most(kTitleLines))) {
        card.push(std::string(kIndent, ' ') + line);
    }
}

void add_fix(Card& card, const Finding& finding) {
    card.add_wrapped("fix", base::clean_text(finding.advice), card.at_most(kAdviceLines));
    if (!finding.advice.empty() && !finding.cost.empty()) {
        card.add_wrapped("", "cost: " + base::clean_text(finding.cost), card.at_most(kCostLines));
    }
}

// True if an earlier part of the card shows the source code at the location of the alternative.
bool is_shown_before(const Finding& finding, std::size_t alternative) {
    const auto same_location = [&](const Reference& reference) {
        return reference.location == finding.alternatives[alternative].location;
    };
    return (!finding.cut.empty() && same_location(finding.cut.front())) ||
           std::ranges::any_of(std::span(finding.alternatives).first(alternative), same_location);
}

void add_alternatives(Card& card, const Finding& finding) {
    const std::size_t shown = std::min(finding.alternatives.size(), card.layout().alternatives);
    for (std::size_t i = 0; i < shown; ++i) {
        const Reference& other = finding.alternatives[i];
        const std::string equal = i == 0 && finding.tie ? " (equally good)" : "";
        card.add_columns("or", described(other) + equal, base::shown_name(other.location));
        if (!is_shown_before(finding, i)) {
            card.add_source(other, SourceDetail::line, false);
        }
        if (!other.reason.empty()) {
            card.add_wrapped(
                "", "cost: " + base::clean_text(other.reason), card.at_most(kCostLines));
        }
    }
}

void add_cycle(Card& card, const Finding& finding, std::size_t most_lines) {
    if (!card.layout().cycle) {
        return;
    }
    const std::size_t total = finding.cycle.size();
    const std::size_t most = card.at_most(most_lines);
    const std::size_t shown = total > most ? most - 1 : total;
    const auto is_cut = [&finding](const Reference& step) {
        return std::ranges::any_of(finding.cut, [&step](const Reference& cut) {
            // The same container item may have a location in `cut` but not in `cycle`, so a
            // reference in `cycle` that has no location matches every location.
            return cut.holder == step.holder && cut.label == step.label &&
                   cut.target == step.target &&
                   (step.location.empty() || cut.location == step.location);
        });
    };
    for (std::size_t i = 0; i < shown; ++i) {
        const Reference& step = finding.cycle[i];
        const std::string line =
            base::shown_name(step.holder) + "  " + base::shown_name(step.label);
        card.add(i == 0 ? "cycle" : "",
                 base::truncate_middle(line, card.room() - 8) + (is_cut(step) ? "  <- cut" : ""));
    }
    if (total > shown) {
        const auto rest = std::span(finding.cycle).subspan(shown);
        card.add("",
                 "... " + base::counted(model::references_in(rest), "more step") +
                     ", back to the first");
    }
}

// The path to the owner and, if known, the owner's allocation site, which is never truncated.
std::string path_and_site(const model::OwnerSummary& owner, std::size_t room) {
    std::string path = base::shown_name(owner.path);
    if (owner.allocated_at.empty()) {
        return path;
    }
    const std::string site = ", allocated at " + base::shown_name(owner.allocated_at);
    const std::size_t rest = room - std::min(room, base::text_width(site));
    return base::truncate_middle(path, std::max(rest, kLeastPath)) + site;
}

// The callers of the allocation site of the largest owner, on at most two lines.
void add_callers(Card& card, const Finding& finding) {
    constexpr std::size_t kMostLines = 2;
    if (finding.owners.empty() || !finding.owners.front().allocation_stack) {
        return;
    }
    const model::OwnerSummary& owner = finding.owners.front();
    const auto is_site = [&](const std::string& frame) {
        return frame.starts_with(owner.allocated_at);
    };
    const std::vector<std::string>& stack = *owner.allocation_stack;
    const auto site = std::ranges::find_if(stack, is_site);
    std::string text;
    for (auto frame = site == stack.end() ? stack.begin() : site + 1; frame != stack.end();) {
        const auto other =
            std::find_if(frame, stack.end(), [&](const auto& next) { return next != *frame; });
        text += (text.empty() ? "allocated in calls from " : ", ") + base::shown_name(*frame);
        if (other - frame > 1) {
            text +=
                " (" + base::format_count(static_cast<std::uint64_t>(other - frame)) + " calls)";
        }
        frame = other;
    }
    card.add_wrapped("", text, card.at_most(kMostLines));
}

void add_owners(Card& card, const Finding& finding) {
    const std::size_t all = finding.owners.size();
    const std::size_t most = card.at_most(card.layout().owner_lines);
    const bool fits = all + (finding.omitted_owners > 0 ? 1 : 0) <= most;
    const std::size_t shown = fits ? all : most - 1;
    for (std::size_t i = 0; i < shown; ++i) {
        const model::OwnerSummary& owner = finding.owners[i];
        std::string text = owner.count > 1 ? base::format_count(owner.count) + " x " : "";
        text += format_bytes(owner.bytes) + " " + base::shown_name(owner.type);
        for (const std::string& part : {owner.shape, owner.dtype, owner.device}) {
            text += part.empty() ? "" : " " + base::truncate_middle(base::shown_name(part), 30);
        }
        const std::string path = path_and_site(owner, card.room() - 2);
        if (owner.allocated_at.empty()) {
            card.add_truncated_columns(i == 0 ? "holds" : "", text, path);
        } else {
            card.add_columns(i == 0 ? "holds" : "", text, path);
        }
    }
    add_callers(card, finding);
    const std::uint64_t more = all - shown + finding.omitted_owners;
    if (more > 0) {
        card.add("", "and " + base::counted(more, "more group") + " of tensors");
    }
    card.add_wrapped("", unowned_words(finding), card.at_most(2));
}

void append_wrapped(std::string& out,
                    const std::string& text,
                    std::size_t width,
                    std::string_view indent) {
    for (const std::string& line :
         base::wrap_text(base::clean_text(text), std::max(width, kLeastWidth) - indent.size(), 6)) {
        out.append(indent).append(line).append("\n");
    }
}

// The sections of the text report, in order. The section of new findings has no heading.
constexpr std::array kStatuses{model::Status::fresh,
                               model::Status::known,
                               model::Status::library,
                               model::Status::benign,
                               model::Status::ignored};

std::string_view heading_of(model::Status status) {
    switch (status) {
        case model::Status::fresh:
            break;
        case model::Status::known:
            return "Known (listed in the baseline):";
        case model::Status::library:
            return "Leaks of libraries:";
        case model::Status::benign:
            return "Cycles by design:";
        case model::Status::ignored:
            return "Ignored by configuration:";
    }
    return "";
}

// Findings are numbered by their rank in the whole report, not within the section.
void append_section(std::string& out,
                    const model::Report& report,
                    std::size_t width,
                    std::size_t most_cards,
                    std::string heading,
                    const std::function<bool(const Finding&)>& belongs) {
    for (std::size_t i = 0; i < std::min(report.findings.size(), most_cards); ++i) {
        if (!belongs(report.findings[i])) {
            continue;
        }
        if (!heading.empty()) {
            out += "\n";
            append_wrapped(out, std::exchange(heading, {}), width, "");
        }
        out += "\n" + render_card(report.findings[i], i + 1, width) + "\n";
    }
}

// New findings that no collection frees have a section of their own.
void append_findings(std::string& out,
                     const model::Report& report,
                     std::size_t width,
                     std::size_t most_cards) {
    for (const model::Status status : kStatuses) {
        const auto belongs = [&](const Finding& each) {
            return each.status == status && !is_never_freed(each);
        };
        append_section(out, report, width, most_cards, std::string(heading_of(status)), belongs);
        if (status == model::Status::fresh) {
            append_section(out,
                           report,
                           width,
                           most_cards,
                           "Never freed. " + std::string(kNeverFreedSentence),
                           is_never_freed);
        }
    }
    if (report.findings.size() > most_cards) {
        out +=
            "\nand " + base::counted(report.findings.size() - most_cards, "smaller finding") + "\n";
    }
}

void append_collections(std::string& out, const model::Report& report, std::size_t width) {
    append_wrapped(out, collections_sentence(report), width, "");
    for (const std::string& line : generation_lines(report)) {
        append_wrapped(out, line, width, "  ");
    }
    if (const std::string sentence = alignment_sentence(report); !sentence.empty()) {
        append_wrapped(out, sentence, width, "");
    }
}

void append_live_owners(std::string& out, const model::Report& report, std::size_t width) {
    if (!report.live_owners || report.live_owners->empty()) {
        return;
    }
    const std::string when = census_words(report);
    out += "\nAlive" + (when.empty() ? "" : " at " + when) + ":\n";
    const std::size_t shown = std::min(report.live_owners->size(), kMostLiveOwners);
    for (const model::LiveOwner& owner : std::span(*report.live_owners).first(shown)) {
        append_wrapped(out, live_owner_sentence(owner), width, "  ");
    }
    if (const std::size_t others = report.live_owners->size() - shown; others > 0) {
        out += "  and " + base::counted(others, "smaller group") + "\n";
    }
}

void append_growing(std::string& out, const model::Report& report, std::size_t width) {
    if (!report.growing || report.growing->empty()) {
        return;
    }
    const std::string when = census_words(report);
    out += "\nGrows" + (when.empty() ? "" : ", up to the census at " + when) + ":\n";
    for (const model::GrowingOwner& growing : *report.growing) {
        append_wrapped(out, growth_sentence(growing), width, "  ");
    }
}

void append_devices(std::string& out, const model::Report& report, std::size_t width) {
    for (const model::DeviceRecord* record : shown_devices(report)) {
        out += "\n";
        append_wrapped(out, device_title(report, *record), width, "");
        for (const std::string& line : {device_details(*record),
                                        memory_sentence(record->memory),
                                        dead_share_sentence(*record),
                                        memory_sentence(record->memory_now)}) {
            if (!line.empty()) {
                append_wrapped(out, line, width, "  ");
            }
        }
    }
    if (const std::string more = omitted_devices(report); !more.empty()) {
        append_wrapped(out, more, width, "");
    }
}

}  // namespace

std::string render_card(const Finding& finding, std::size_t rank, std::size_t width) {
    std::string text;
    for (const Layout& layout : layouts_of(finding)) {
        Card card(width, layout);
        add_heading(card, finding, rank);
        add_cut(card, finding);
        add_fix(card, finding);
        if (finding.status == model::Status::fresh) {
            add_alternatives(card, finding);
        } else {
            card.add_wrapped("note", base::clean_text(finding.status_reason), kNoteLines);
        }
        card.add_wrapped("also", variants_words(finding, kVariants), card.at_most(kVariantLines));
        add_cycle(card, finding, finding.variants.empty() ? kCycleLines : kCycleLines - 1);
        add_owners(card, finding);
        card.add_wrapped("seen", seen_sentence(finding), 2);
        card.add("id", base::truncate_end(base::clean_text(finding.signature), card.room()));
        text = card.text();
        if (card.fits()) {
            break;
        }
    }
    return text;
}

std::string render_text(const model::Report& report, std::size_t width, std::size_t most_cards) {
    std::string out;
    std::string sentence = summary_sentence(report);
    if (!report.findings.empty()) {
        sentence += " " + remedy_sentence(report);
    }
    append_wrapped(out, sentence, width, "");
    append_findings(out, report, width, most_cards);
    append_growing(out, report, width);
    append_live_owners(out, report, width);
    append_devices(out, report, width);
    out += "\n";
    append_collections(out, report, width);
    append_wrapped(out, overhead_sentence(report), width, "");
    for (const std::string& line : omissions(report)) {
        append_wrapped(out, "note: " + line, width, "");
    }
    append_wrapped(out, program_line(report.processes), width, "");
    return out;
}

}  // namespace cyclewatch::render
