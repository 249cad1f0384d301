// SPDX-License-Identifier: Apache-2.0
#include "render/text/cut_lines.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "base/text.h"
#include "render/code_changes.h"

namespace cyclewatch::render {
namespace {

using model::Finding;
using model::Reference;

constexpr std::size_t kFewestChanges = 3;  // if there are several
constexpr std::size_t kShortCycle = 2;     // references; the title shows such a cycle in full
constexpr std::size_t kReasonLines = 3;    // one line fewer on a compact card

// Returns `text`, followed by the number of references in `change` if that number differs from the
// number of holders. Adds the target class of the references if other changes have different target
// classes.
std::string with_number(const std::string& text,
                        const std::vector<CodeChange>& changes,
                        const CodeChange& change) {
    const std::string target = target_words(changes, change);
    return text +
           (change.references == change.holders.size()
                ? ""
                : " (" + base::counted(change.references, "reference") + ")") +
           (target.empty() ? "" : " -> " + target);
}

// The length of the path to the directory that contains all code to change. All locations are shown
// relative to this directory, except the location of the first change.
std::size_t common_folder(const Finding& finding) {
    std::string_view common = finding.cut.front().location;
    for (const Reference& cut : finding.cut) {
        const auto [end, other] = std::ranges::mismatch(common, cut.location);
        common = common.substr(0, static_cast<std::size_t>(end - common.begin()));
    }
    const std::size_t last = common.find_last_of("/\\");
    return last == std::string_view::npos ? 0 : last + 1;
}

// "bound method Engine.run", "Engine".
std::string short_holder(const Reference& cut) {
    const std::string_view holder = cut.holder;
    const std::size_t space = holder.rfind(' ');
    if (space == std::string_view::npos) {
        return std::string(base::last_part(holder));
    }
    const std::size_t method = holder.rfind('.');
    const std::size_t qualifier =
        method == std::string_view::npos || method == 0 ? method : holder.rfind('.', method - 1);
    return std::string(holder.substr(0, space + 1)) +
           std::string(holder.substr(qualifier == std::string_view::npos || qualifier < space
                                         ? space + 1
                                         : qualifier + 1));
}

// If a base class sets the attribute, adds "set in" to `text` and the base class to `location`.
void add_base_class(const CodeChange& change, std::string& text, std::string& location) {
    const std::string& base_class = change.first->base_class;
    if (change.holders.size() == 1 && !base_class.empty() && !location.empty()) {
        text += ", set in";
        location += " (class " + base::shown_name(base::last_part(base_class)) + ")";
    }
}

// Adds the first change, with its source code.
void add_first_change(Card& card, std::string_view word, const std::vector<CodeChange>& changes) {
    const CodeChange& change = changes.front();
    const Reference& cut = *change.first;
    const std::string classes = classes_words(change);
    std::string text =
        classes.empty() ? described(cut) : base::shown_name(cut.label) + " of " + classes;
    text = with_number(text, changes, change);
    std::string location = base::shown_name(cut.location);
    add_base_class(change, text, location);
    card.add_columns(word, text, location);
    card.add_source(cut, SourceDetail::context, true);
}

// Adds another change, on one line if possible. Omits the first `folder` characters of the path.
void add_change(Card& card,
                std::string_view word,
                const std::vector<CodeChange>& changes,
                const CodeChange& change,
                std::size_t folder) {
    const Reference& cut = *change.first;
    const std::string classes = classes_words(change);
    std::string text = base::shown_name(cut.label) + " of " +
                       (classes.empty() ? base::shown_name(short_holder(cut)) : classes);
    if (classes.empty() && !cut.holder_path.empty()) {
        text += " in " + base::shown_name(cut.holder_path);
    }
    text = with_number(text, changes, change);
    std::string location = base::shown_name(
        std::string_view(cut.location).substr(std::min(folder, cut.location.size())));
    add_base_class(change, text, location);
    card.add_columns(word, text, location);
}

}  // namespace

std::string described(const Reference& reference) {
    std::string text =
        base::shown_name(reference.label) + " of " + base::shown_name(reference.holder);
    if (!reference.holder_path.empty()) {
        text += reference.holder.starts_with("builtin method ") ? " of " : " in ";
        text += base::shown_name(reference.holder_path);
    }
    return text;
}

void add_cut(Card& card, const Finding& finding) {
    if (finding.cut.empty()) {
        card.add("cut", "no reference is clearly the best one to cut; see the cycle");
        return;
    }
    const std::vector<CodeChange> changes = changes_of(finding);
    const std::size_t shown = std::min(changes.size(), card.layout().changes);
    if (changes.size() == 1) {
        add_first_change(card, "cut", changes);
    } else {
        card.add("cut", all_of_changes(finding, changes));
        add_first_change(card, "1", changes);
    }
    const std::size_t folder = common_folder(finding);
    for (std::size_t i = 1; i < shown; ++i) {
        add_change(card, std::to_string(i + 1), changes, changes[i], folder);
    }
    if (const std::uint64_t more = changes.size() - shown + finding.omitted_cuts; more > 0) {
        card.add_wrapped("",
                         "and " + base::counted(more, "more location") + ": `cyclewatch explain " +
                             base::shown_name(finding.signature) + " REPORT` lists all",
                         2);
    }
    if (!finding.cut.front().reason.empty()) {
        card.add_wrapped(
            "", "why: " + base::clean_text(finding.cut.front().reason), card.at_most(kReasonLines));
    }
}

std::vector<Layout> layouts_of(const model::Finding& finding) {
    const std::size_t count = changes_of(finding).size();
    const std::size_t all = std::clamp<std::size_t>(count, 1, kMaxCardLines);
    std::vector<Layout> layouts;
    for (const SourceDetail detail :
         {SourceDetail::context, SourceDetail::line, SourceDetail::first}) {
        layouts.push_back({true, detail, all});
    }
    // No layout omits exactly one change, because the line that counts omitted changes could show
    // that change instead.
    const auto add_fewer = [&](bool roomy, SourceDetail detail, std::size_t fewest) {
        for (std::size_t changes = all + 1; changes-- > fewest;) {
            if (changes + 1 != count + finding.omitted_cuts) {
                layouts.push_back({roomy, detail, changes, kFewestOwnerLines});
                layouts.back().cycle = all == 1;
            }
        }
    };
    if (all > 1) {
        // All changes must be made, so the full list has priority over the source of the first
        // change.
        layouts.push_back({true, SourceDetail::none, all, kFewestOwnerLines});
        layouts.back().cycle = false;
        add_fewer(true, SourceDetail::first, std::min(all, kFewestChanges));
    }
    layouts.push_back({true, SourceDetail::none, all});
    add_fewer(true, SourceDetail::none, std::min(all, kFewestChanges));
    layouts.push_back({false, SourceDetail::none, all});
    add_fewer(false, SourceDetail::none, 1);
    layouts.push_back({false, SourceDetail::none, 1, kFewestOwnerLines, 1, true});
    if (all > 1 && finding.cycle.size() <= kShortCycle) {
        std::ranges::for_each(layouts, [](Layout& layout) { layout.cycle = false; });
    }
    return layouts;
}

}  // namespace cyclewatch::render
