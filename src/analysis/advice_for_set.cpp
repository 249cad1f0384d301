// SPDX-License-Identifier: Apache-2.0
#include "analysis/advice_for_set.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "analysis/advice_code.h"
#include "analysis/names.h"
#include "analysis/weak_targets.h"
#include "base/text.h"

namespace cyclewatch::analysis {
namespace {

// How to declare the new attribute in classes with `__slots__`, as a sentence that begins with a
// space. Empty if the code for the first reference already shows it.
std::string advice_for_other_slots(const CollapsedGraph& graph, const Cut& cut) {
    const auto is_slot = [&](const Candidate& kind) {
        const EdgeIx edge = kind.edges.front();
        return graph.edges[edge].label.kind == model::EdgeKind::slot &&
               !is_declared_field(graph, edge);
    };
    return !is_slot(cut.cut.front()) && std::ranges::any_of(cut.cut, is_slot)
               ? " For a slot, replace the name in `__slots__`."
               : "";
}

// "`._items` and `._index`"
std::string labels_of(const CollapsedGraph& graph, const std::vector<const Candidate*>& kinds) {
    std::vector<std::string> labels;
    for (const Candidate* const kind : kinds) {
        std::string label = "`" + label_of(graph, kind->edges.front()) + "`";
        if (std::ranges::find(labels, label) == labels.end()) {
            labels.push_back(std::move(label));
        }
    }
    return base::joined(labels);
}

// The references of a set, by the change that removes them.
struct SetByChange {
    std::vector<const Candidate*> weak;     // a weak reference instead of the reference
    std::vector<const Candidate*> items;    // weak references in the container
    std::vector<const Candidate*> methods;  // a weakref.WeakMethod in the container
    std::vector<const Candidate*> cleared;  // no weak reference is possible
};

SetByChange by_change(const CollapsedGraph& graph, const Cut& cut) {
    SetByChange result;
    for (const Candidate& kind : cut.cut) {
        const WeakTargets targets = weak_targets_of(graph, kind);
        auto& group = targets.edge != kNone ? result.cleared
                      : !targets.are_items  ? result.weak
                      : targets.are_methods ? result.methods
                                            : result.items;
        group.push_back(&kind);
    }
    return result;
}

// What differs from the advice on the other references of the set, as sentences that each begin
// with a space.
std::string exceptions_of(const CollapsedGraph& graph, const SetByChange& set) {
    std::string text;
    if (!set.items.empty()) {
        text += " In " + labels_of(graph, set.items) +
                ", store a weakref.ref to each object instead of the object.";
    }
    if (!set.methods.empty()) {
        text += " In " + labels_of(graph, set.methods) +
                ", store a weakref.WeakMethod of each bound method.";
    }
    if (!set.cleared.empty()) {
        text += " Set " + labels_of(graph, set.cleared) +
                " to None when no longer needed: weak references do not work there.";
    }
    return text;
}

// Code for the kinds of references of the set that do not have the code of the first, as sentences
// that each begin with a space.
std::string code_of_others(const CollapsedGraph& graph, const SetByChange& set) {
    std::string text;
    const auto first_with = [&](auto test) -> const Candidate* {
        const auto found = std::ranges::find_if(set.weak, test);
        return found == set.weak.end() ? nullptr : *found;
    };
    const auto* const method =
        first_with([&](const Candidate* kind) { return !method_of(graph, *kind).empty(); });
    if (method != nullptr) {
        text += " Instead of a bound method, store `weak(self." + method_of(graph, *method) +
                ")`, with `def weak(method): ref = weakref.WeakMethod(method); return " +
                kCallWhileAlive + "`.";
    }
    if (first_with([&](const Candidate* kind) {
            return is_first_argument_of_partial(graph, *kind);
        }) != nullptr) {
        text += std::string(" Instead of a partial of `function`, store `") + kCallWithObject +
                "`, with `ref = weakref.ref(...)` to its first argument.";
    }
    const auto* const closure = first_with([&](const Candidate* kind) {
        return graph.edges[kind->edges.front()].label.kind == model::EdgeKind::closure;
    });
    if (closure != nullptr) {
        const std::string name(graph.label_name(closure->edges.front()));
        text += " In a function, capture `ref = weakref.ref(" + name + ")` and call `ref()`.";
    }
    return text;
}

}  // namespace

bool can_use_weak_references(const CollapsedGraph& graph, const Cut& cut) {
    return by_change(graph, cut).cleared.size() < cut.cut.size();
}

std::string advice_for_set(const CollapsedGraph& graph, const Cut& cut, std::string code) {
    const SetByChange set = by_change(graph, cut);
    if (set.cleared.size() == cut.cut.size()) {
        return "Set each of these references to None when it is no longer needed.";
    }
    const std::string exceptions = exceptions_of(graph, set);
    if (set.weak.empty()) {
        return exceptions.substr(1);
    }
    const std::string parent = cut.on_every_cycle ? name_in_text(graph, cut.parent) : "";
    if (code.empty()) {
        code = ", or store only the values " + (parent.empty() ? "" : "of " + parent + " ") +
               "that are needed.";
    } else {
        code.replace(0, code.find(':'), ". In code, for the first");
    }
    std::vector<const Candidate*> others;
    for (const auto* const group : {&set.items, &set.methods, &set.cleared}) {
        others.insert(others.end(), group->begin(), group->end());
    }
    return "Replace each of these references" +
           (others.empty() ? "" : " except " + labels_of(graph, others)) + " with a weakref.ref" +
           (parent.empty() ? "" : " to " + parent) + code + exceptions +
           advice_for_other_slots(graph, cut) + code_of_others(graph, set);
}

}  // namespace cyclewatch::analysis
