// SPDX-License-Identifier: Apache-2.0
#include "analysis/component.h"

#include <algorithm>

namespace cyclewatch::analysis {

ComponentExtractor::ComponentExtractor(const CollapsedGraph& graph,
                                       const Components& components,
                                       const RetainedSize& retained)
    : graph_(graph),
      components_(components),
      retained_(retained),
      members_(graph::listed_by(components.of, components.count())),
      member_of_(graph.size()) {}

Component ComponentExtractor::extract(ComponentIx component) {
    Component result(graph_, component);
    result.nodes.assign(members_.of(component).begin(), members_.of(component).end());
    // Use the canonical order, because later stages break ties by taking the first node.
    std::ranges::stable_sort(result.nodes, {}, [this](NodeIx n) { return graph_.color[n]; });
    for (const MemberIx member : result.nodes.indexes()) {
        member_of_[result.nodes[member]] = member;
    }
    for (const MemberIx member : result.nodes.indexes()) {
        const NodeIx node = result.nodes[member];
        bool leads_out = retained_.owns_released(node);
        for (const EdgeIx e : graph_.edges_of(node)) {
            const NodeIx target = graph_.targets[e];
            if (components_.of[target] == component) {
                if (graph_.edges[e].structural) {
                    result.structural.insert(result.edges.end_index());
                }
                result.targets.push_back(member_of_[target]);
                result.edges.push_back(e);
                result.holder.push_back(member);
            } else {
                leads_out = leads_out || retained_.leads_to_released(target);
            }
        }
        result.end_node();
        if (leads_out) {
            result.leads_out.insert(member);
        }
        result.kept.push_back(retained_.kept_by(node));
    }
    return result;
}

// Repeatedly removes nodes without incoming references (Kahn, "Topological sorting of large
// networks", 1962). The nodes that remain are on a cycle or can be reached from one.
bool still_holds(const Component& component, const IndexSet<InnerEdgeIx>& dead) {
    IndexedVector<MemberIx, std::uint32_t> incoming(component.size(), 0);
    for (const InnerEdgeIx e : component.all_edges()) {
        incoming[component.targets[e]] += dead.contains(e) ? 0U : 1U;
    }
    std::vector<MemberIx> removed;
    removed.reserve(component.size());
    for (const MemberIx n : component.all_nodes()) {
        if (incoming[n] == 0) {
            removed.push_back(n);
        }
    }
    for (std::size_t i = 0; i < removed.size(); ++i) {
        for (const InnerEdgeIx e : component.edges_of(removed[i])) {
            if (!dead.contains(e) && --incoming[component.targets[e]] == 0) {
                removed.push_back(component.targets[e]);
            }
        }
    }
    return std::ranges::any_of(component.all_nodes(), [&](MemberIx n) {
        return incoming[n] != 0 && component.leads_out.contains(n);
    });
}

}  // namespace cyclewatch::analysis
