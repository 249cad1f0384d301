// SPDX-License-Identifier: Apache-2.0
#include "analysis/parent_candidates.h"

#include <algorithm>
#include <functional>
#include <string_view>

#include "analysis/names.h"

namespace cyclewatch::analysis {
namespace {

using model::NodeKind;

constexpr std::size_t kMostOfCycle = 8;      // try the objects of this many references
constexpr std::size_t kMostReferredTo = 12;  // objects tried because many references lead to them
constexpr std::size_t kFarthestClimb = 10'000;

// A dict may be a record to which other records refer, so it may be a parent. A bound method is
// created when it is looked up, so nothing but its holders keeps it alive.
bool may_be_parent(const CollapsedGraph& graph, NodeIx node) {
    return !graph.is(node, NodeKind::bound_method) &&
           (!is_container(graph, node) || graph.is(node, NodeKind::dict));
}

// Follows a chain of attributes with the same plain name as `e`. Returns the last object or, if the
// chain is a cycle, the first object that occurs twice.
MemberIx top_of(const Component& component, const Roles& roles, InnerEdgeIx e) {
    MemberIx node = component.targets[e];
    if (!is_attribute(component.graph, component.edges[e])) {
        return node;
    }
    const model::StringId name = component.edge(e).label.name;
    const std::string_view plain_name = roles.plain_name(e);
    IndexSet<MemberIx> seen;
    for (std::size_t steps = 0; steps < kFarthestClimb && seen.insert(node); ++steps) {
        for (const InnerEdgeIx next : component.edges_of(node)) {
            // Ids are compared first, because that is faster than comparing strings.
            if (is_attribute(component.graph, component.edges[next]) &&
                (component.edge(next).label.name == name || roles.plain_name(next) == plain_name)) {
                node = component.targets[next];
            }
        }
    }
    return node;
}

std::vector<MemberIx> most_referred_to(const Component& component, const Holders& holders) {
    std::vector<MemberIx> members;
    for (const MemberIx n : component.all_nodes()) {
        if (!is_container(component.graph, component.nodes[n])) {
            members.push_back(n);
        }
    }
    std::ranges::stable_sort(
        members, std::greater{}, [&](MemberIx n) { return holders.of(n).size(); });
    members.resize(std::min(members.size(), kMostReferredTo));
    return members;
}

}  // namespace

std::vector<MemberIx> parent_candidates(const Component& component,
                                        const Cycle& cycle,
                                        const Holders& holders,
                                        const Roles& roles) {
    std::vector<MemberIx> candidates;
    const auto add = [&](MemberIx member) {
        if (may_be_parent(component.graph, component.nodes[member]) &&
            std::ranges::find(candidates, member) == candidates.end()) {
            candidates.push_back(member);
        }
    };
    for (std::size_t i = 0; i < std::min(cycle.size(), kMostOfCycle); ++i) {
        add(component.holder[cycle[i]]);
        add(top_of(component, roles, cycle[i]));
    }
    std::ranges::for_each(most_referred_to(component, holders), add);
    return candidates;
}

}  // namespace cyclewatch::analysis
