// SPDX-License-Identifier: Apache-2.0
#include "analysis/component.h"

#include <algorithm>

namespace cyclewatch::analysis {

ComponentExtractor::ComponentExtractor(const CollapsedGraph& graph,
                                       const graph::StrongComponents& components,
                                       const RetainedSize& retained)
    : graph_(graph),
      components_(components),
      retained_(retained),
      members_(graph::listed_by(components.of, components.count())),
      position_(graph.nodes()) {}

Component ComponentExtractor::extract(std::uint32_t component) {
    Component result;
    const std::span<const std::uint32_t> members = members_.of(component);
    result.nodes.assign(members.begin(), members.end());
    // Use the canonical order, because later stages break ties by taking the first node.
    std::stable_sort(
        result.nodes.begin(), result.nodes.end(), [this](std::uint32_t a, std::uint32_t b) {
            return graph_.color[a] < graph_.color[b];
        });
    for (std::uint32_t i = 0; i < result.size(); ++i) {
        position_[result.nodes[i]] = i;
    }
    result.first.push_back(0);
    for (std::uint32_t i = 0; i < result.size(); ++i) {
        const std::uint32_t node = result.nodes[i];
        bool leads_out = retained_.owns_released(node);
        for (std::uint32_t e = graph_.first[node]; e < graph_.first[node + 1]; ++e) {
            const std::uint32_t target = graph_.targets[e];
            if (components_.of[target] == component) {
                result.targets.push_back(position_[target]);
                result.edges.push_back(e);
                result.holder.push_back(i);
                result.structural.push_back(graph_.edges[e].structural ? 1 : 0);
            } else {
                leads_out = leads_out || retained_.leads_to_released(target);
            }
        }
        result.first.push_back(static_cast<std::uint32_t>(result.targets.size()));
        result.leads_out.push_back(leads_out ? 1 : 0);
        result.kept.push_back(retained_.kept_by(node));
    }
    return result;
}

// Repeatedly removes nodes without incoming references (Kahn, "Topological sorting of large
// networks", 1962). The nodes that remain are on a cycle or can be reached from one.
bool still_holds(const Component& component, std::span<const char> dead) {
    std::vector<std::uint32_t> incoming(component.size(), 0);
    for (std::uint32_t e = 0; e < component.targets.size(); ++e) {
        incoming[component.targets[e]] += dead[e] != 0 ? 0U : 1U;
    }
    std::vector<std::uint32_t> removed;
    removed.reserve(component.size());
    for (std::uint32_t n = 0; n < component.size(); ++n) {
        if (incoming[n] == 0) {
            removed.push_back(n);
        }
    }
    for (std::size_t i = 0; i < removed.size(); ++i) {
        const std::uint32_t n = removed[i];
        for (std::uint32_t e = component.first[n]; e < component.first[n + 1]; ++e) {
            if (dead[e] == 0 && --incoming[component.targets[e]] == 0) {
                removed.push_back(component.targets[e]);
            }
        }
    }
    for (std::uint32_t n = 0; n < component.size(); ++n) {
        if (incoming[n] != 0 && component.leads_out[n] != 0) {
            return true;
        }
    }
    return false;
}

}  // namespace cyclewatch::analysis
