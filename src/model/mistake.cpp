// SPDX-License-Identifier: Apache-2.0
#include "model/mistake.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <tuple>

#include "base/text.h"
#include "model/reference_graph.h"

namespace cyclewatch::model {
namespace {

constexpr std::string_view kBoundObject = "__self__";
constexpr std::size_t kLongestCompared = 12;  // references of a cycle
constexpr std::array<std::string_view, 6> kContainers{
    "dict", "list", "tuple", "set", "frozenset", "deque"};

// "[3]" -> "[x]", "args[0]" -> "args[x]"; "['key']" is unchanged.
std::string without_index(const std::string& label) {
    const std::size_t open = label.rfind('[');
    if (open == std::string::npos || !label.ends_with(']')) {
        return label;
    }
    const std::string_view inside =
        std::string_view(label).substr(open + 1, label.size() - open - 2);
    const bool index =
        !inside.empty() && inside.find_first_not_of("0123456789") == std::string_view::npos;
    return index ? label.substr(0, open) + "[x]" : label;
}

// Returns the reference that stores the bound method: the nearest reference with a known location
// that precedes the method on the cycle. Returns `method` if there is none.
const Reference& storing_reference(const Finding& finding, const Reference& method) {
    const std::vector<Reference>& cycle = finding.cycle;
    for (std::size_t at = 0; at < cycle.size(); ++at) {
        if (cycle[at].label != kBoundObject) {
            continue;
        }
        for (std::size_t back = 1; back < cycle.size(); ++back) {
            const Reference& before = cycle[(at + cycle.size() - back) % cycle.size()];
            if (!before.location.empty()) {
                return before;
            }
        }
    }
    return method;
}

bool cuts_methods(const Finding& finding) {
    return std::ranges::all_of(finding.cut,
                               [](const Reference& cut) { return cut.label == kBoundObject; });
}

// REQUIRES: finding.cut is not empty.
const Reference& first_change(const Finding& finding) {
    return cuts_methods(finding) ? storing_reference(finding, finding.cut.front())
                                 : finding.cut.front();
}

// The key made from the pattern and the references to cut; "" if the location of the first
// reference is unknown.
std::string key_of_cut(const Finding& finding) {
    if (finding.cut.empty() || first_change(finding).location.empty()) {
        return {};
    }
    std::set<std::string> changes;
    if (cuts_methods(finding)) {
        const Reference& stored = first_change(finding);
        changes.insert(without_index(stored.label) + '\n' + stored.location);
    } else {
        for (const Reference& cut : finding.cut) {
            changes.insert(without_index(cut.label) + '\n' + cut.location);
        }
    }
    std::string key = "cut\n" + finding.pattern + (finding.cut.front().payload ? "\npayload" : "");
    for (const std::string& change : changes) {
        key += '\n' + change;
    }
    return key;
}

bool is_container(std::string_view holder) {
    return std::ranges::find(kContainers, holder) != kContainers.end();
}

bool is_function(std::string_view holder) {
    return holder.starts_with(kind_prefix(NodeKind::function));
}

// True for a hook of a torch object ("forward hook"), whose location is that of a function.
bool is_hook(std::string_view label) {
    return label.ends_with("hook") && !label.starts_with('.');
}

// Adds one key per holder. The key consists of the cycle, starting at the holder, without the
// holder's name. Cycles that differ in only one class share one of these keys. Cycles that differ
// in a function do not, because each function must be changed; a hook of a library may call a
// function that is not on the cycle. The key includes the number of cuts, because the cuts
// suggested for one cycle must also break the other cycles with the same key.
void add_keys_of_cycle(std::vector<std::string>& keys, const Finding& finding) {
    const std::vector<Reference>& cycle = finding.cycle;
    const auto named = std::ranges::count_if(
        cycle, [](const Reference& step) { return !is_container(step.holder); });
    if (cycle.size() > kLongestCompared || named < 2) {
        return;
    }
    for (std::size_t start = 0; start < cycle.size(); ++start) {
        if (is_container(cycle[start].holder) || is_function(cycle[start].holder)) {
            continue;
        }
        std::string key = "cycle\n" + std::to_string(finding.cut.size());
        for (std::size_t i = 0; i < cycle.size(); ++i) {
            const Reference& step = cycle[(start + i) % cycle.size()];
            key += '\n' + (i == 0 ? std::string() : step.holder) + '\n' +
                   without_index(step.label) +
                   (is_hook(step.label) ? '\n' + step.location : std::string());
        }
        keys.push_back(std::move(key));
    }
}

// The first holder ("F1Score") on the cycle of `finding` that is not on the cycle of `other`. If
// there is none, the first reference that is not on the cycle of `other` ("Engine.second").
std::string distinguishing_name(const Finding& finding, const Finding& other) {
    const auto on_other = [&](auto&& same) {
        return [&other, same](const Reference& step) {
            return std::ranges::any_of(other.cycle,
                                       [&](const Reference& its) { return same(step, its); });
        };
    };
    const auto holder = std::ranges::find_if_not(
        finding.cycle,
        on_other([](const Reference& a, const Reference& b) { return a.holder == b.holder; }));
    if (holder != finding.cycle.end()) {
        return std::string(base::last_part(holder->holder));
    }
    const auto step = std::ranges::find_if_not(
        finding.cycle, on_other([](const Reference& a, const Reference& b) {
            return a.holder == b.holder && a.label == b.label;
        }));
    return step == finding.cycle.end() ? finding.title
                                       : std::string(base::last_part(step->holder)) + step->label;
}

Variant variant_of(const Finding& finding, const Finding& other) {
    return {finding.signature,
            distinguishing_name(finding, other),
            finding.title,
            finding.cut.empty() ? std::string() : first_change(finding).location,
            finding.occurrences,
            reached_bytes(finding)};
}

void add_variant(Finding& shown, Variant variant) {
    const auto known = std::ranges::find(shown.variants, variant.signature, &Variant::signature);
    if (known != shown.variants.end()) {
        known->occurrences += variant.occurrences;
        known->bytes += variant.bytes;
    } else if (shown.variants.size() < kMaxVariants) {
        shown.variants.push_back(std::move(variant));
    } else {
        ++shown.omitted_variants;
    }
}

}  // namespace

std::vector<std::string> mistake_keys(const Finding& finding) {
    std::vector<std::string> keys;
    if (std::string key = key_of_cut(finding); !key.empty()) {
        keys.push_back(std::move(key));
    }
    add_keys_of_cycle(keys, finding);
    return keys;
}

void add_variants(Finding& shown, const Finding& other) {
    if (shown.variants.empty() && other.variants.empty() && shown.signature == other.signature) {
        return;
    }
    if (shown.variants.empty()) {
        add_variant(shown, variant_of(shown, other));
    }
    if (other.variants.empty()) {
        add_variant(shown, variant_of(other, shown));
    }
    for (const Variant& variant : other.variants) {
        add_variant(shown, variant);
    }
    shown.omitted_variants += other.omitted_variants;
    std::ranges::stable_sort(shown.variants, [](const Variant& a, const Variant& b) {
        return std::tie(b.bytes, a.signature) < std::tie(a.bytes, b.signature);
    });
}

std::vector<std::string> signatures_of(const Finding& finding) {
    std::vector<std::string> signatures{finding.signature};
    for (const Variant& variant : finding.variants) {
        if (variant.signature != finding.signature) {
            signatures.push_back(variant.signature);
        }
    }
    return signatures;
}

bool has_signature(const Finding& finding, std::string_view signature) {
    return finding.signature == signature ||
           std::ranges::any_of(finding.variants, [&](const Variant& variant) {
               return variant.signature == signature;
           });
}

}  // namespace cyclewatch::model
