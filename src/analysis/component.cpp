// SPDX-License-Identifier: Apache-2.0
#include "analysis/component.h"

#include <algorithm>

namespace cyclewatch::analysis {

ComponentExtractor::ComponentExtractor(const CollapsedGraph& graph,
                                       const graph::StrongComponents& components,
                                       const RetainedSize& retained,
                                       std::span<const char> is_owner)
    : graph_(graph),
      components_(components),
      retained_(retained),
      is_owner_(is_owner),
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
        bool leads_out = is_owner_[node] != 0;
        for (std::uint32_t e = graph_.first[node]; e < graph_.first[node + 1]; ++e) {
            const std::uint32_t target = graph_.targets[e];
            if (components_.of[target] == component) {
                result.targets.push_back(position_[target]);
                result.edges.push_back(e);
                result.holder.push_back(i);
                result.structural.push_back(graph_.edges[e].structural ? 1 : 0);
            } else {
                leads_out = leads_out || retained_.leads_to_owner(target);
            }
        }
        result.first.push_back(static_cast<std::uint32_t>(result.targets.size()));
        result.leads_out.push_back(leads_out ? 1 : 0);
        result.kept.push_back(retained_.kept_by(node));
    }
    return result;
}

namespace {

// Per strong component of the remaining graph: whether an owner can be reached from it.
std::vector<char> parts_with_owner(const Component& component,
                                   const graph::StrongComponents& parts,
                                   std::span<const char> dead) {
    std::vector<char> leads(parts.count(), 0);
    for (std::uint32_t n = 0; n < component.size(); ++n) {
        leads[parts.of[n]] |= component.leads_out[n];
    }
    // References only lead to parts with lower numbers, so a single pass in ascending order
    // suffices.
    const graph::Rows<> nodes_of = graph::listed_by(parts.of, parts.count());
    for (std::uint32_t part = 0; part < parts.count(); ++part) {
        for (const std::uint32_t n : nodes_of.of(part)) {
            for (std::uint32_t e = component.first[n]; e < component.first[n + 1]; ++e) {
                if (dead.empty() || dead[e] == 0) {
                    leads[part] |= leads[parts.of[component.targets[e]]];
                }
            }
        }
    }
    return leads;
}

// True if a cycle through `node` remains.
bool is_on_cycle(const Component& component, std::uint32_t node, std::span<const char> dead) {
    std::vector<char> seen(component.size(), 0);
    std::vector<std::uint32_t> open{node};
    while (!open.empty()) {
        const std::uint32_t holder = open.back();
        open.pop_back();
        for (std::uint32_t e = component.first[holder]; e < component.first[holder + 1]; ++e) {
            if (!dead.empty() && dead[e] != 0) {
                continue;
            }
            const std::uint32_t target = component.targets[e];
            if (target == node) {
                return true;
            }
            if (seen[target] == 0) {
                seen[target] = 1;
                open.push_back(target);
            }
        }
    }
    return false;
}

// Repeatedly removes nodes without incoming references (A. Kahn, "Topological sorting of large
// networks", 1962). Much faster than finding the strong components.
bool is_acyclic(const Component& component, std::span<const char> dead) {
    const auto is_dead = [&](std::uint32_t e) { return !dead.empty() && dead[e] != 0; };
    std::vector<std::uint32_t> incoming(component.size(), 0);
    for (std::uint32_t e = 0; e < component.targets.size(); ++e) {
        incoming[component.targets[e]] += is_dead(e) ? 0U : 1U;
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
            if (!is_dead(e) && --incoming[component.targets[e]] == 0) {
                removed.push_back(component.targets[e]);
            }
        }
    }
    return removed.size() == component.size();
}

}  // namespace

bool still_holds(const Component& component, std::span<const char> dead) {
    // Fast path: look for a cycle through one node from which an owner can be reached.
    const auto holder = std::find(component.leads_out.begin(), component.leads_out.end(), 1);
    if (holder != component.leads_out.end() &&
        is_on_cycle(
            component, static_cast<std::uint32_t>(holder - component.leads_out.begin()), dead)) {
        return true;
    }
    if (is_acyclic(component, dead)) {
        return false;
    }
    const graph::StrongComponents parts = graph::strong_components(component.view(), dead);
    const std::vector<char> leads = parts_with_owner(component, parts, dead);
    for (std::uint32_t part = 0; part < parts.count(); ++part) {
        if (parts.cyclic[part] && leads[part] != 0) {
            return true;
        }
    }
    return false;
}

}  // namespace cyclewatch::analysis
