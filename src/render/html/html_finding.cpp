// SPDX-License-Identifier: Apache-2.0
#include "render/html/html_parts.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "advice/catalog.h"
#include "base/text.h"
#include "model/cycle_gap.h"
#include "render/code_changes.h"
#include "render/excerpt.h"
#include "render/html/html_writer.h"
#include "render/picture_text.h"
#include "render/summary.h"

namespace cyclewatch::render {
namespace {

using base::format_bytes;
using model::Finding;
using model::Reference;
using model::Status;

// Escapes each line separately, because escape_markup() replaces line breaks.
std::string escaped_lines(std::string_view text) {
    std::string markup;
    for (std::size_t start = 0; start < text.size();) {
        const std::size_t end = std::min(text.find('\n', start), text.size());
        markup += base::escape_markup(text.substr(start, end - start)) + "\n";
        start = end + 1;
    }
    return markup;
}

// Long lines scroll inside the box, so the box must be focusable.
std::string code_sample(std::string_view title, std::string_view style, std::string_view lines) {
    std::string markup = element("h3", "", title);
    markup.append("<pre role=\"region\" tabindex=\"0\" aria-label=\"").append(title).append("\">");
    markup += wrap_markup("code", "", escaped_lines(lines)) + "</pre>";
    return wrap_markup("div", style, markup) + "\n";
}

std::string public_cases(const advice::Pattern& pattern) {
    if (pattern.links.empty()) {
        return {};
    }
    std::string items;
    for (const std::string& link : pattern.links) {
        const std::string address = base::escape_markup(link);
        items.append("<li><a rel=\"noreferrer\" href=\"").append(address).append("\">");
        items.append(address).append("</a></li>\n");
    }
    return element("h3", "cases", "Public examples") + wrap_markup("ul", "links", items) + "\n";
}

constexpr std::size_t kMostSteps = 100;  // in the table of a cycle
constexpr std::size_t kMostAlternatives = 6;
constexpr std::size_t kMostCuts = 4;  // shown with source code and reason; the rest are listed
constexpr std::size_t kMostOwners = 40;
constexpr std::size_t kMostRawReferences = 20;  // in one step
constexpr std::size_t kMostNote = 600;          // columns

// "and 3 more steps"; "" if `count` is 0.
std::string more_line(std::uint64_t count, std::string_view noun, std::string_view rest = {}) {
    return count == 0
               ? std::string()
               : element("p", "more", "and " + base::counted(count, noun) + std::string(rest));
}

std::string heading(const Finding& finding, std::size_t rank) {
    const bool own = finding.retained_bytes > 0;
    std::string facts = element("span", "bytes", kept_size(finding));
    facts += element("span", "", base::counted(finding.occurrences, "cycle"));
    facts += element("span", "", "in " + occasions(finding));
    if (finding.dead_for_at_most > 0) {
        facts += element(
            "span", "", "unreachable for up to " + base::format_duration(finding.dead_for_at_most));
    }
    if (finding.shared_bytes > 0) {
        facts += element("span",
                         "",
                         (own ? "+ " + format_bytes(finding.shared_bytes) + " " : "") +
                             sharing_words(finding) + ": freed once all are fixed");
    }
    if (finding.by_process.size() > 1) {
        facts += element(
            "span", "", "in " + base::counted(finding.by_process.size(), "process", "processes"));
    }
    if (finding.unowned_bytes.value_or(0) > 0) {
        facts += element("span", "", unowned_words(*finding.unowned_bytes));
    }
    if (finding.collected != model::Collected::yes) {
        facts += element("span", "pill status", collected_words(finding));
    }
    if (finding.status != Status::fresh) {
        facts += element("span", "pill status", model::word_of(finding.status));
    }
    if (!finding.pattern.empty() && finding.pattern != "unknown") {
        facts += element("span", "pill", base::shown_name(finding.pattern));
    }
    const std::string number = std::to_string(rank);
    return "<header><h2 id=\"h" + number + "\"><span class=\"rank\">" + number + "</span> " +
           "<span class=\"title\">" + title_markup(finding.title) + "</span></h2>\n" +
           wrap_markup("p", "facts", facts) + "\n" +
           wrap_markup("p", "headline", prose(headline(finding))) +
           (finding.status_reason.empty()
                ? std::string()
                : wrap_markup("p",
                              "status-reason",
                              "Status " + std::string(word_of(finding.status)) + ": " +
                                  prose(finding.status_reason))) +
           "</header>\n";
}

std::string location_of(const Reference& reference) {
    const std::string base_class =
        reference.base_class.empty() ? "" : " (class " + code(reference.base_class) + ")";
    return reference.location.empty()
               ? std::string()
               : " <span class=\"where\">" + code(reference.location) + base_class + "</span>";
}

// "9 references in 3 classes: Saver, Early ..."; "" for one reference.
std::string number_of(const CodeChange& change) {
    if (change.references <= 1) {
        return {};
    }
    std::string out = "<br>" + base::counted(change.references, "reference") + " in ";
    out += counted_holders(change);
    for (std::size_t i = 1; i < change.holders.size(); ++i) {
        out += (i == 1 ? ", also " : ", ") + code(change.holders[i]);
    }
    return out;
}

std::string reason_of(const Reference& reference, const std::string& heading) {
    return reference.reason.empty()
               ? std::string()
               : wrap_markup("p", "why", heading + prose(reference.reason)) + "\n";
}

// The code at the location. Long lines scroll inside the box, so the box must be focusable.
std::string source_of(const Reference& reference) {
    std::string rows;
    for (const ExcerptLine& line :
         reference.source ? excerpt_lines(*reference.source) : std::vector<ExcerptLine>()) {
        const std::string text =
            element("span", "number", line.number) + base::escape_markup(line.before) +
            (line.expression.empty() ? "" : element("u", "", line.expression)) +
            base::escape_markup(line.after);
        rows += wrap_markup(line.is_at_location ? "mark" : "span", "line", text);
    }
    return rows.empty()
               ? rows
               : "<pre class=\"source\" role=\"region\" tabindex=\"0\" aria-label=\"Code at " +
                     base::escape_markup(base::shown_name(reference.location)) + "\">" +
                     wrap_markup("code", "", rows) + "</pre>\n";
}

// The label and location come first, because they identify the code to change.
std::string choice(const Reference& reference,
                   const std::string& heading = {},
                   const std::string& number = {}) {
    return wrap_markup(
               "div",
               "choice",
               "<p class=\"reference\">" + code(reference.label, "name") + location_of(reference) +
                   "</p>\n" + source_of(reference) + reason_of(reference, heading) +
                   "<p class=\"ends\"><span>from</span> " + code(reference.holder) +
                   (reference.holder_path.empty() ? std::string()
                                                  : " (" + code(reference.holder_path) + ")") +
                   "<br><span>to</span> " + code(reference.target) + number + "</p>\n") +
           "\n";
}

std::string advice_of(const Finding& finding) {
    return finding.advice.empty()
               ? std::string()
               : "<p class=\"instead\"><b>Fix:</b> " + prose(finding.advice) +
                     (finding.cost.empty() ? std::string()
                                           : " Cost: " + prose(finding.cost) + ".") +
                     "</p>\n";
}

// The changes that choice() does not show, one line each.
std::string change_list(std::span<const CodeChange> changes) {
    std::string out;
    for (const CodeChange& change : changes) {
        const std::string classes = classes_words(change);
        out += wrap_markup("li",
                           "",
                           code(change.first->label, "name") + " of " +
                               (classes.empty() ? code(change.first->holder)
                                                : base::escape_markup(classes)) +
                               (change.references == change.holders.size()
                                    ? std::string()
                                    : " (" + base::counted(change.references, "reference") + ")") +
                               location_of(*change.first)) +
               "\n";
    }
    return out.empty() ? out : wrap_markup("ul", "locations", "\n" + out) + "\n";
}

std::string cut_section(const Finding& finding) {
    if (finding.cut.empty()) {
        return "<section class=\"cut none\"><h3>What to cut</h3>\n"
               "<p>No reference is clearly the best one to cut. Cut any reference in the cycle "
               "below.</p></section>\n";
    }
    const bool either = finding.tie && !finding.alternatives.empty();
    const std::string title = finding.cut.front().payload ? "Keep the cycle, free its memory"
                              : either                    ? "Cut either of these"
                              : finding.cut.size() == 1   ? "Cut this reference"
                                                          : "Cut all of these";
    std::string out = "<section class=\"cut\"><h3>" + title + "</h3>\n<div class=\"choices\">\n";
    const std::vector<CodeChange> changes = changes_of(finding);
    const std::size_t shown = std::min(changes.size(), kMostCuts);
    for (const CodeChange& change : std::span(changes).first(shown)) {
        out += choice(*change.first, {}, number_of(change));
    }
    if (either) {
        out += choice(finding.alternatives.front(), "Cost: ");
    }
    out += "</div>\n";
    out += change_list(std::span(changes).subspan(shown));
    out += more_line(finding.omitted_cuts, "more kind", " of references");
    return out + advice_of(finding) + "</section>\n";
}

std::string alternative_list(const std::vector<const Reference*>& references,
                             std::string_view title) {
    if (references.empty()) {
        return {};
    }
    std::string out = "<section class=\"other\">" + element("h3", "", title) + "<ul>\n";
    for (const Reference* reference : references) {
        out += wrap_markup("li", "", choice(*reference, "Cost: ")) + "\n";
    }
    return out + "</ul></section>\n";
}

std::string alternatives(const Finding& finding) {
    std::vector<const Reference*> other_cuts;
    std::vector<const Reference*> payload;
    const std::size_t first = finding.tie ? 1 : 0;  // alternatives[0] is shown beside the cut
    for (std::size_t i = first; i < finding.alternatives.size(); ++i) {
        auto& list = finding.alternatives[i].payload ? payload : other_cuts;
        if (list.size() < kMostAlternatives) {
            list.push_back(&finding.alternatives[i]);
        }
    }
    return alternative_list(other_cuts, "Or cut this instead") +
           alternative_list(payload, "Or keep the cycle and free the tensor");
}

std::string figure(const Finding& finding, std::size_t rank, std::string_view picture) {
    std::string out =
        "<figure class=\"picture\">\n<div class=\"frame\" role=\"region\" tabindex=\"0\" "
        "aria-label=\"Diagram of cycle " +
        std::to_string(rank) + "\">";
    out.append(picture).append("</div>\n<figcaption>");
    out +=
        "<span class=\"key cycle\">the cycle</span> <span class=\"key cut\">cut here</span> "
        "<span class=\"key owner\">owners of device memory</span>";
    if (const std::uint64_t more = undrawn_items(finding.picture); more > 0) {
        out += element("span", "more", "and " + base::counted(more, "more object") + " not drawn");
    }
    return out + "</figcaption></figure>\n";
}

std::string cell(std::string_view text, std::string_view style = {}) {
    return element("td", style, text);
}

std::string name_cell(std::string_view name) {
    return wrap_markup("td", "", name.empty() ? std::string() : code(name));
}

// The allocation site, which opens to the whole call stack if that is known.
std::string site_cell(const model::OwnerSummary& owner) {
    if (!owner.allocation_stack) {
        return name_cell(owner.allocated_at);
    }
    std::string lines;
    for (const std::string& frame : *owner.allocation_stack) {
        lines += base::escape_markup(base::shown_name(frame)) + "\n";
    }
    return wrap_markup("td",
                       "",
                       "<details class=\"stack\"><summary>" + code(owner.allocated_at) +
                           "</summary>" + wrap_markup("pre", "", lines) + "</details>");
}

std::string owner_table(const Finding& finding) {
    if (finding.owners.empty()) {
        return {};
    }
    const bool sites = std::any_of(finding.owners.begin(),
                                   finding.owners.end(),
                                   [](const auto& owner) { return !owner.allocated_at.empty(); });
    std::string rows;
    const std::size_t shown = std::min(finding.owners.size(), kMostOwners);
    for (std::size_t i = 0; i < shown; ++i) {
        const model::OwnerSummary& owner = finding.owners[i];
        rows += "<tr>" + cell(base::format_count(owner.count), "number") +
                cell(format_bytes(owner.bytes), "number") + name_cell(owner.type) +
                cell(base::shown_name(owner.shape)) + cell(base::shown_name(owner.dtype)) +
                cell(base::shown_name(owner.device)) + name_cell(owner.path) +
                (sites ? site_cell(owner) : std::string()) + "</tr>\n";
    }
    std::string head =
        "<th scope=\"col\" class=\"number\">Count</th><th scope=\"col\" class=\"number\">Size"
        "</th><th scope=\"col\">Type</th><th scope=\"col\">Shape</th><th scope=\"col\">Dtype</th>"
        "<th scope=\"col\">Device</th><th scope=\"col\">Path</th>";
    head += sites ? "<th scope=\"col\">Allocated at</th>" : "";
    return scrolling_table("Memory that the cycle kept alive", head, rows) +
           more_line(
               finding.owners.size() - shown + finding.omitted_owners, "more group", " of owners");
}

std::string variant_table(const Finding& finding) {
    if (finding.variants.empty()) {
        return {};
    }
    std::string rows;
    for (const model::Variant& variant : finding.variants) {
        rows += "<tr>" + name_cell(variant.name) + name_cell(variant.location) +
                cell(base::format_count(variant.occurrences), "number") +
                cell(format_bytes(variant.bytes), "number") + name_cell(variant.title) +
                name_cell(variant.signature) + "</tr>\n";
    }
    const std::string head =
        "<th scope=\"col\">Object</th><th scope=\"col\">Cut at</th>"
        "<th scope=\"col\" class=\"number\">Cycles</th><th scope=\"col\" "
        "class=\"number\">Bytes</th>"
        "<th scope=\"col\">Cycle</th><th scope=\"col\">Signature</th>";
    return scrolling_table("Cycles fixed by the same change", head, rows) +
           more_line(finding.omitted_variants, "more signature");
}

std::string raw_path(const Reference& reference) {
    std::string out;
    const std::size_t shown = std::min(reference.raw_path.size(), kMostRawReferences);
    for (std::size_t i = 0; i < shown; ++i) {
        out += (i == 0 ? "" : " ") + code(reference.raw_path[i]);
    }
    return out + (shown < reference.raw_path.size() ? " ..." : "");
}

std::string cycle_details(const Finding& finding) {
    if (finding.cycle.empty()) {
        return {};
    }
    std::string rows;
    const std::size_t shown = std::min(finding.cycle.size(), kMostSteps);
    for (std::size_t i = 0; i < shown; ++i) {
        const Reference& step = finding.cycle[i];
        rows += "<tr>" + cell(std::to_string(i + 1), "number") + name_cell(step.holder) +
                name_cell(step.label) + name_cell(step.target) + name_cell(step.location) +
                wrap_markup("td", "", raw_path(step)) + "</tr>\n";
    }
    const std::string head =
        "<th scope=\"col\" class=\"number\">Step</th><th scope=\"col\">Holder</th>"
        "<th scope=\"col\">Reference</th><th scope=\"col\">Target</th><th "
        "scope=\"col\">Location</th>"
        "<th scope=\"col\">Raw references</th>";
    const auto rest = std::span(finding.cycle).subspan(shown);
    return "<details><summary>All references of the cycle</summary>\n" +
           scrolling_table("References of the cycle, in order", head, rows) +
           more_line(model::references_in(rest), "more step") + "</details>\n";
}

std::string at_step(std::int64_t step) {
    return step < 0 ? std::string()
                    : " at step " + base::format_count(static_cast<std::uint64_t>(step));
}

std::string when_section(const Finding& finding) {
    std::string sentence = "First seen " + base::format_duration(finding.first_seen) +
                           " into the run, in " +
                           (finding.scans.value_or(0) == 0 ? "collection "
                            : finding.collections == 0     ? "scan "
                                                           : "collection or scan ") +
                           base::format_count(finding.first_collection);
    if (!finding.by_process.empty()) {
        sentence += at_step(finding.by_process.front().first_step);
    }
    if (finding.last_seen > finding.first_seen) {
        sentence += "; last seen after " + base::format_duration(finding.last_seen);
    }
    return "<section class=\"when\"><h3>When it was seen</h3>\n" +
           element("p", "quiet", sentence + ".") + "</section>\n";
}

// The verdict and note; hidden if both are empty. In the browser, the script replaces the verdict
// and note with a form.
std::string opinion(const Finding& finding) {
    const bool none = finding.verdict == model::Verdict::none && finding.note.empty();
    const std::string verdict(none ? "none" : word_of(finding.verdict));
    return std::string("<dl class=\"opinion\"") + (none ? " hidden=\"\"" : "") +
           "><dt>Your verdict</dt><dd data-verdict=\"\">" + verdict +
           "</dd><dt>Your note</dt><dd data-note=\"\">" +
           base::escape_markup(base::truncate_end(base::clean_text(finding.note), kMostNote)) +
           "</dd></dl>\n";
}

}  // namespace

std::string pattern_details(const model::Finding& finding) {
    const advice::Pattern* const pattern = advice::Catalog::built_in().find(finding.pattern);
    if (pattern == nullptr || pattern->id == "unknown") {  // there is no explanation
        return {};
    }
    return "<details class=\"pattern\">" +
           element("summary", "", "About this pattern: " + pattern->title) + "\n" +
           (pattern->shape.empty()
                ? std::string()
                : element("p", "explanation", "Shape: " + pattern->shape + ".")) +
           "\n<div class=\"before-after\">\n" + code_sample("Before", "before", pattern->before) +
           code_sample("After", "after", pattern->after) + "</div>\n" + public_cases(*pattern) +
           "</details>\n";
}

std::string finding_card(const Finding& finding,
                         std::size_t rank,
                         const CardPicture& picture,
                         CardWeight weight) {
    const std::string number = std::to_string(rank);
    const std::string columns = picture.wide ? "columns wide" : "columns";
    const std::string rest =
        "<div class=\"" + columns + "\">\n<div class=\"advice\">\n" + cut_section(finding) +
        alternatives(finding) + "</div>\n" + figure(finding, rank, picture.markup) + "</div>\n" +
        variant_table(finding) + owner_table(finding) + when_section(finding) +
        pattern_details(finding) + cycle_details(finding) + "<p class=\"signature\">Signature " +
        code(finding.signature) +
        " <span class=\"hint\">identical across runs, ranks and machines</span></p>\n" +
        opinion(finding);
    return "<article class=\"card\" id=\"finding-" + number + "\" data-finding=\"" +
           std::to_string(rank - 1) + "\" aria-labelledby=\"h" + number + "\">\n" +
           heading(finding, rank) +
           (weight == CardWeight::light ? wrap_markup("noscript", "", rest) : rest) +
           "</article>\n";
}

}  // namespace cyclewatch::render
