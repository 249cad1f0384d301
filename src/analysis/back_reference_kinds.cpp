// SPDX-License-Identifier: Apache-2.0
#include "analysis/back_reference_kinds.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "analysis/evidence_weights.h"
#include "analysis/names.h"

namespace cyclewatch::analysis {

using model::NodeKind;

std::string BackReferenceKinds::holder_name(InnerEdgeIx e) const {
    return full_name(graph_, component_.holder_node(e));
}

std::string BackReferenceKinds::target_name(InnerEdgeIx e) const {
    return full_name(graph_, component_.target_node(e));
}

std::vector<InnerCandidate> BackReferenceKinds::kinds_of(const std::vector<InnerEdgeIx>& back) {
    const IndexSet<InnerEdgeIx> is_back(component_.edges.size(), back);
    std::map<std::string, InnerCandidate> kinds;
    std::map<std::pair<std::string, std::string>, std::string> ends;
    for (const InnerEdgeIx e : back) {
        const InnerEdgeIx item = outermost(e, is_back);
        const InnerCandidate judged = judge(e, item);
        if (judged.score < patterns::kWorthCutting || judged.evidence == nullptr) {
            return {};
        }
        const std::string from = holder_name(item);
        const std::string to = target_name(e);
        ends.emplace(std::pair(from, to), roles_.role(item));
        const auto opposite = ends.find(std::pair(to, from));
        if (from != to && opposite != ends.end() && opposite->second != roles_.role(item)) {
            return {};  // both ends of a pair
        }
        kinds.try_emplace(roles_.kind(item), judged).first->second.edges.push_back(item);
    }
    std::vector<InnerCandidate> result;
    result.reserve(kinds.size());
    for (auto& [text, kind] : kinds) {
        result.push_back(finished(std::move(kind)));
    }
    return result;
}

// Sets the counts in `kind`. If several references have the same holder class and the same target
// class, moves all but the first to the end.
InnerCandidate BackReferenceKinds::finished(InnerCandidate kind) const {
    std::ranges::sort(kind.edges);
    kind.edges.erase(std::unique(kind.edges.begin(), kind.edges.end()), kind.edges.end());
    kind.equivalent = kind.edges.size();
    const auto ends_of = [&](InnerEdgeIx e) { return std::pair(holder_name(e), target_name(e)); };
    std::ranges::stable_sort(kind.edges, {}, [&](InnerEdgeIx e) {
        return std::pair(!on_cycle_.contains(e), ends_of(e));
    });
    std::set<std::string> classes;
    std::set<std::pair<std::string, std::string>> listed;
    std::stable_partition(kind.edges.begin(), kind.edges.end(), [&](InnerEdgeIx e) {
        const auto pair = ends_of(e);
        classes.insert(pair.first);
        return listed.insert(pair).second;
    });
    kind.classes = classes.size();
    kind.listed = listed.size();
    return kind;
}

void BackReferenceKinds::sort_for_reader(std::vector<InnerCandidate>& kinds, NodeIx parent) const {
    std::map<std::string, std::size_t> to_class;
    for (const InnerCandidate& kind : kinds) {
        to_class[target_name(kind.edges.front())] += kind.equivalent;
    }
    const auto leads_to_parent = [&](InnerEdgeIx e) { return component_.target_node(e) == parent; };
    // References of library objects, such as mocks, may also be cut, but the user's own come first.
    const auto is_library = [&](const InnerCandidate& kind) {
        return origin_of(graph_, component_.holder_node(kind.edges.front())) != Origin::user;
    };
    const std::string_view pattern =
        std::ranges::min_element(kinds, {}, is_library)->evidence->pattern;
    std::ranges::sort(kinds, {}, [&](const InnerCandidate& kind) {
        const InnerEdgeIx e = kind.edges.front();
        const std::string name = target_name(e);
        return std::tuple(is_library(kind),
                          kind.evidence->pattern != pattern,
                          std::ranges::none_of(kind.edges, leads_to_parent),
                          -static_cast<std::int64_t>(to_class.at(name)),
                          name,
                          -static_cast<std::int64_t>(kind.equivalent),
                          !on_cycle_.contains(e),
                          -kind.score,
                          roles_.role(e),
                          holder_name(e),
                          roles_.kind(e));
    });
}

std::map<std::string, int> BackReferenceKinds::roles_of(
    const std::vector<InnerCandidate>& kinds) const {
    std::map<std::string, int> roles;
    for (const InnerCandidate& kind : kinds) {
        int& score = roles.try_emplace(roles_.role(kind.edges.front()), kind.score).first->second;
        score = std::max(score, kind.score);
    }
    return roles;
}

// The reference to change in order to remove `e`: `e` itself or, if `e` is an item of a container
// that holds only back references, the attribute that refers to the container.
InnerEdgeIx BackReferenceKinds::outermost(InnerEdgeIx e,
                                          const IndexSet<InnerEdgeIx>& is_back) const {
    InnerEdgeIx keeper = e;
    for (int steps = 0; steps < Roles::kDeepestContainer; ++steps) {
        const MemberIx container = component_.holder[keeper];
        if (!is_anonymous_item(graph_, component_.edges[keeper]) ||
            !leads_only_back(container, is_back)) {
            break;
        }
        keeper = holders_.of(container).front();
    }
    return is_attribute(graph_, component_.edges[keeper]) ? keeper : e;
}

// True if only one reference leads to the object at `position`, and all references from that object
// are structural, are back references, or lead to containers or bound methods.
bool BackReferenceKinds::leads_only_back(MemberIx position,
                                         const IndexSet<InnerEdgeIx>& is_back) const {
    if (holders_.of(position).size() != 1) {
        return false;
    }
    for (const InnerEdgeIx e : component_.edges_of(position)) {
        const MemberIx target = component_.targets[e];
        const bool through = is_container(graph_, component_.nodes[target]) ||
                             graph_.is(component_.nodes[target], NodeKind::bound_method);
        if (!is_back.contains(e) && !component_.structural.contains(e) && !through) {
            return false;
        }
    }
    return true;
}

// True for a variable of a frame, and for an entry of a namespace (`__globals__`, `f_locals`). A
// function needs its variables, so they are not references from a child to its parent.
bool BackReferenceKinds::is_variable_of_call(InnerEdgeIx e) const {
    const MemberIx holder = component_.holder[e];
    if (graph_.is(component_.nodes[holder], NodeKind::frame)) {
        return true;
    }
    const auto& into = holders_.of(holder);
    return graph_.is(component_.nodes[holder], NodeKind::dict) &&
           std::ranges::any_of(into, [this](InnerEdgeIx k) {
               const std::string_view name = graph_.label_name(component_.edges[k]);
               return name == "__globals__" || name == "f_locals" || name == "f_globals";
           });
}

// A candidate for `item`, the reference to change in order to remove `e`. The score and evidence
// are taken from `item` or `e`, whichever scores higher.
InnerCandidate BackReferenceKinds::judge(InnerEdgeIx e, InnerEdgeIx item) {
    InnerCandidate judged = judged_alone(item);
    judged.edges.clear();
    if (judged.evidence == nullptr || judged.evidence == &patterns::kCreated) {
        judged.evidence = nullptr;  // the holder is the parent
        return judged;
    }
    if (const InnerCandidate& inner = judged_alone(e); inner.score > judged.score) {
        judged.score = inner.score;
        judged.evidence = inner.evidence;
    }
    const std::string_view pattern = judged.evidence->pattern;
    if (pattern == patterns::kMember.pattern &&
        (is_variable_of_call(item) || is_variable_of_call(e))) {
        judged.evidence = nullptr;
        return judged;
    }
    if (is_container(graph_, component_.target_node(item)) && item != e) {
        judged.evidence = &patterns::kBackToParentInList;
    } else if (pattern == patterns::kMutual.pattern ||
               pattern == patterns::kListOfHandles.pattern ||
               pattern == patterns::kMember.pattern) {
        judged.evidence = &patterns::kBackToParent;  // the parent is now known
    }
    return judged;
}

const InnerCandidate& BackReferenceKinds::judged_alone(InnerEdgeIx e) {
    const auto [entry, fresh] = judged_.try_emplace(kind_of(component_, e));
    if (fresh && work_.take_passes(1)) {
        entry->second = judge_reference(component_, e);
    }
    return entry->second;
}

}  // namespace cyclewatch::analysis
