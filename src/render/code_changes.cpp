// SPDX-License-Identifier: Apache-2.0
#include "render/code_changes.h"

#include <algorithm>

#include "base/text.h"

namespace cyclewatch::render {
namespace {

constexpr std::string_view kMethod = "bound method";

// For bound methods, holder_path is not compared, because one line of code may store several
// methods in different attributes.
bool are_stored_alike(const model::Reference& first, const model::Reference& cut) {
    return first.holder_path == cut.holder_path || cut.holder.starts_with(kMethod);
}

}  // namespace

std::vector<CodeChange> changes_of(const model::Finding& finding) {
    std::vector<CodeChange> changes;
    for (const model::Reference& cut : finding.cut) {
        auto change = std::ranges::find_if(changes, [&cut](const CodeChange& known) {
            // If the location is unknown, references held by different classes may need different
            // changes.
            const bool same_code = !cut.location.empty() || known.first->holder == cut.holder;
            return same_code && known.first->location == cut.location &&
                   known.first->label == cut.label && are_stored_alike(*known.first, cut);
        });
        if (change == changes.end()) {
            changes.push_back({&cut, 0, {}, {}});
            change = changes.end() - 1;
        }
        change->references += cut.references;
        if (std::ranges::find(change->holders, cut.holder) == change->holders.end()) {
            change->holders.push_back(cut.holder);
        }
        if (std::ranges::find(change->targets, cut.target) == change->targets.end()) {
            change->targets.push_back(cut.target);
        }
    }
    return changes;
}

std::string all_of_changes(const model::Finding& finding, const std::vector<CodeChange>& changes) {
    std::uint64_t references = 0;
    for (const CodeChange& change : changes) {
        references += change.references;
    }
    const std::string count = base::counted(changes.size() + finding.omitted_cuts, "location") +
                              "; all of them must be cut";
    const bool counts = references >= changes.size() && finding.omitted_cuts == 0;
    return (counts ? base::counted(references, "reference") : "references") + " in " + count;
}

std::string target_words(const std::vector<CodeChange>& changes, const CodeChange& change) {
    const bool same = std::ranges::all_of(changes, [&changes](const CodeChange& other) {
        return other.targets == changes.front().targets;
    });
    // The name of a bound method already contains the class.
    const std::string method = "bound method " + change.targets.front() + ".";
    if (same || (change.holders.size() == 1 && change.holders.front().starts_with(method))) {
        return {};
    }
    return change.targets.size() == 1
               ? base::shown_name(base::last_part(change.targets.front()))
               : "one of " + base::counted(change.targets.size(), "class", "classes");
}

std::string counted_holders(const CodeChange& change) {
    return change.first->holder.starts_with(kMethod)
               ? base::counted(change.holders.size(), kMethod)
               : base::counted(change.holders.size(), "class", "classes");
}

std::string classes_words(const CodeChange& change) {
    if (change.holders.size() == 1) {
        return {};
    }
    std::string text = counted_holders(change);
    if (!change.first->base_class.empty()) {
        text += " derived from " + base::shown_name(base::last_part(change.first->base_class));
    }
    return text;
}

}  // namespace cyclewatch::render
