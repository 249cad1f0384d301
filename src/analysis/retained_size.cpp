// SPDX-License-Identifier: Apache-2.0
#include "analysis/retained_size.h"

#include <algorithm>

namespace cyclewatch::analysis {
namespace {

constexpr std::uint32_t kSeveral = kNone - 1;

// The union of two sets of components. A set is represented by kNone (empty), the number of its
// only component, or kSeveral.
std::uint32_t unite(std::uint32_t a, std::uint32_t b) {
    if (a == kNone || a == b) {
        return b;
    }
    return b == kNone ? a : kSeveral;
}

// Nodes by descending component number, which is a topological order of the components.
std::vector<std::uint32_t> topological_order(const graph::StrongComponents& components) {
    const graph::Rows members = graph::listed_by(components.of, components.count());
    std::vector<std::uint32_t> order;
    order.reserve(components.of.size());
    for (std::uint32_t component = components.count(); component-- > 0;) {
        order.insert(order.end(), members.of(component).begin(), members.of(component).end());
    }
    return order;
}

// The node of each owner.
std::vector<std::uint32_t> nodes_of_owners(const CollapsedGraph& graph,
                                           const model::Observation& observation) {
    std::vector<std::uint32_t> nodes;
    nodes.reserve(observation.owners.size());
    for (const model::DeviceOwner& owner : observation.owners) {
        nodes.push_back(graph.collapsed_of[index_of(owner.node)]);
    }
    return nodes;
}

}  // namespace

RetainedSize::RetainedSize(const CollapsedGraph& graph,
                           const graph::StrongComponents& components,
                           const model::Observation& observation)
    : observation_(observation),
      component_of_(components.of),
      has_cycle_(components.cyclic),
      owners_of_(graph::listed_by(nodes_of_owners(graph, observation), graph.nodes())) {
    const std::vector<std::uint32_t> nodes = topological_order(components);
    number_tree_nodes(components, nodes);
    tree_ = build_tree(graph, components);
    mark_nodes_above_owners(graph, nodes);
    find_cycles_above(graph, components, nodes);
    mark_kept_from_outside(graph, components, nodes);
    add_up(components);
    add_up_freed(graph, components);
}

void RetainedSize::number_tree_nodes(const graph::StrongComponents& components,
                                     std::span<const std::uint32_t> holders_first) {
    position_of_node_.resize(holders_first.size());
    position_of_component_.assign(components.count(), kNone);
    std::uint32_t next = 1;  // 0 is the root
    for (const std::uint32_t node : holders_first) {
        const std::uint32_t component = components.of[node];
        if (position_of_component_[component] == kNone && components.cyclic[component]) {
            position_of_component_[component] = next++;
        }
        position_of_node_[node] = next++;
        if (!components.cyclic[component]) {
            position_of_component_[component] = position_of_node_[node];
        }
    }
    first_storage_ = next;
}

graph::DominatorTree RetainedSize::build_tree(const CollapsedGraph& graph,
                                              const graph::StrongComponents& components) {
    graph::Rows rows(first_storage_ + observation_.storages.size());
    const auto for_each_reference = [&](auto&& visit) {
        for (std::uint32_t node = 0; node < graph.nodes(); ++node) {
            const std::uint32_t component = components.of[node];
            if (components.cyclic[component]) {
                visit(position_of_component_[component], position_of_node_[node]);
            }
            for (std::uint32_t e = graph.first[node]; e < graph.first[node + 1]; ++e) {
                const std::uint32_t target = components.of[graph.targets[e]];
                if (target != component) {
                    visit(position_of_node_[node], position_of_component_[target]);
                }
            }
            for (const std::uint32_t owner : owners_of(node)) {
                const auto storage = static_cast<std::uint32_t>(index_of(storage_of(owner)));
                visit(position_of_node_[node], first_storage_ + storage);
            }
        }
    };
    for_each_reference([&](std::uint32_t, std::uint32_t to) { rows.count(to); });
    rows.begin_filling();
    for_each_reference([&](std::uint32_t from, std::uint32_t to) { rows.fill(to, from); });
    for (std::uint32_t c = 0; c < components.count(); ++c) {
        const std::size_t references = rows.view().of(position_of_component_[c]).size();
        one_way_.push_back(references == 1);
    }
    return graph::dominators(rows.view());
}

void RetainedSize::mark_nodes_above_owners(const CollapsedGraph& graph,
                                           std::span<const std::uint32_t> holders_first) {
    leads_to_released_.assign(position_of_component_.size(), false);
    const auto leads = [this](std::uint32_t node) { return leads_to_released(node); };
    for (auto node = holders_first.rbegin(); node != holders_first.rend(); ++node) {
        if (owns_released(*node) || std::ranges::any_of(graph.view().of(*node), leads)) {
            leads_to_released_[component_of_[*node]] = true;
        }
    }
}

void RetainedSize::find_cycles_above(const CollapsedGraph& graph,
                                     const graph::StrongComponents& components,
                                     std::span<const std::uint32_t> holders_first) {
    cycle_above_.assign(components.count(), kNone);
    for (const std::uint32_t node : holders_first) {
        const std::uint32_t component = component_of_[node];
        const std::uint32_t cycles = cycles_to(component, components);
        if (cycles == kNone) {
            continue;
        }
        for (const std::uint32_t target : graph.view().of(node)) {
            if (component_of_[target] != component) {
                std::uint32_t& above = cycle_above_[component_of_[target]];
                above = unite(above, cycles);
            }
        }
    }
}

// The set (see unite()) of all components that have a cycle and can reach `component`. The set
// includes `component` itself if it has a cycle.
std::uint32_t RetainedSize::cycles_to(std::uint32_t component,
                                      const graph::StrongComponents& components) const {
    const std::uint32_t above = cycle_above_[component];
    return components.cyclic[component] ? unite(above, component) : above;
}

// Breaking the cycles of a component frees a storage if no owner of the storage can be reached from
// another cycle.
void RetainedSize::add_up_freed(const CollapsedGraph& graph,
                                const graph::StrongComponents& components) {
    freed_ = held_;
    std::vector<bool> counted(observation_.storages.size(), false);
    for (const model::DeviceOwner& owner : observation_.owners) {
        const std::size_t s = index_of(owner.storage);
        const model::Storage& storage = observation_.storages[s];
        const std::uint32_t component = component_of_[graph.collapsed_of[index_of(owner.node)]];
        if (!storage.released || keeper_[s] == kNone || counted[s] ||
            cycles_to(component, components) == keeper_[s]) {
            continue;
        }
        counted[s] = true;
        freed_[keeper_[s]] -= storage.bytes;
    }
}

double RetainedSize::freed_with(std::uint32_t node) const {
    const std::uint32_t component = component_of_[node];
    const std::uint64_t held = held_[component];
    if (held == 0) {
        return cycle_above_[component] == kNone ? 1 : 0;
    }
    return static_cast<double>(freed_[component]) / static_cast<double>(held);
}

void RetainedSize::mark_kept_from_outside(const CollapsedGraph& graph,
                                          const graph::StrongComponents& components,
                                          std::span<const std::uint32_t> holders_first) {
    std::vector<bool> referenced(graph.nodes(), false);
    std::vector<bool> below_root(graph.nodes(), false);
    for (const std::uint32_t node : holders_first) {
        if (components.cyclic[component_of_[node]]) {
            below_root[node] = false;
        } else if (!referenced[node]) {
            below_root[node] = true;
        }
        for (const std::uint32_t target : graph.view().of(node)) {
            referenced[target] = true;
            below_root[target] = below_root[target] || below_root[node];
        }
    }
    kept_from_outside_.assign(observation_.storages.size(), false);
    for (const model::DeviceOwner& owner : observation_.owners) {
        if (below_root[graph.collapsed_of[index_of(owner.node)]]) {
            kept_from_outside_[index_of(owner.storage)] = true;
        }
    }
}

void RetainedSize::add_up(const graph::StrongComponents& components) {
    const auto positions = static_cast<std::uint32_t>(tree_.parent.size());
    std::vector<std::uint32_t> nearest(positions, kNone);  // nearest dominator with a cycle
    for (std::uint32_t c = 0; c < components.count(); ++c) {
        if (components.cyclic[c]) {
            nearest[position_of_component_[c]] = c;
        }
    }
    for (std::uint32_t p = 1; p < positions; ++p) {
        if (nearest[p] == kNone) {
            nearest[p] = nearest[tree_.parent[p]];
        }
    }
    kept_.assign(positions, 0);
    held_.assign(components.count(), 0);
    keeper_.assign(observation_.storages.size(), kNone);
    for (std::uint32_t s = 0; s < observation_.storages.size(); ++s) {
        const model::Storage& storage = observation_.storages[s];
        keeper_[s] = nearest[first_storage_ + s];
        if (!storage.released) {
            continue;
        }
        kept_[first_storage_ + s] = storage.bytes;
        if (keeper_[s] != kNone) {
            held_[keeper_[s]] += storage.bytes;
        }
    }
    kept_alone_ = kept_;
    for (std::uint32_t p = positions; p-- > 1;) {
        kept_[tree_.parent[p]] += kept_[p];
        if (nearest[p] == nearest[tree_.parent[p]]) {
            kept_alone_[tree_.parent[p]] += kept_alone_[p];
        }
    }
}

std::uint64_t RetainedSize::kept_through(std::uint32_t holder, std::uint32_t target) const {
    const std::uint32_t position = position_of_component_[component_of_[target]];
    if (position != position_of_node_[target]) {
        return 0;  // the target is in a cycle
    }
    return tree_.parent[position] == position_of_node_[holder] ? kept_alone_[position] : 0;
}

}  // namespace cyclewatch::analysis
