// SPDX-License-Identifier: Apache-2.0
#include "analysis/retained_size.h"

#include <algorithm>
#include <ranges>

namespace cyclewatch::analysis {
namespace {

using graph::TreeIx;

constexpr ComponentIx kSeveral{UINT32_MAX - 1};

// The union of two sets of components. A set is represented by kNone (empty), the number of its
// only component, or kSeveral.
ComponentIx unite(ComponentIx a, ComponentIx b) {
    if (a == kNone || a == b) {
        return b;
    }
    return b == kNone ? a : kSeveral;
}

// Nodes by descending component number, which is a topological order of the components.
std::vector<NodeIx> topological_order(const Components& components) {
    const auto members = graph::listed_by(components.of, components.count());
    std::vector<NodeIx> order;
    order.reserve(components.of.size());
    for (const ComponentIx component : components.all() | std::views::reverse) {
        order.insert(order.end(), members.of(component).begin(), members.of(component).end());
    }
    return order;
}

IndexedVector<OwnerId, NodeIx> nodes_of_owners(const CollapsedGraph& graph,
                                               const model::Observation& observation) {
    IndexedVector<OwnerId, NodeIx> nodes;
    nodes.reserve(observation.owners.size());
    for (const model::DeviceOwner& owner : observation.owners) {
        nodes.push_back(graph.node_of(owner));
    }
    return nodes;
}

}  // namespace

RetainedSize::RetainedSize(const CollapsedGraph& graph,
                           const Components& components,
                           const model::Observation& observation)
    : observation_(observation),
      component_of_(components.of),
      has_cycle_(components.cyclic),
      owners_of_(graph::listed_by(nodes_of_owners(graph, observation), graph.size())) {
    const std::vector<NodeIx> nodes = topological_order(components);
    number_tree_nodes(components, nodes);
    tree_ = build_tree(graph, components);
    mark_nodes_above_owners(graph, nodes);
    find_cycles_above(graph, components, nodes);
    mark_kept_from_outside(graph, components, nodes);
    add_up(components);
    add_up_freed(graph, components);
}

void RetainedSize::number_tree_nodes(const Components& components,
                                     std::span<const NodeIx> holders_first) {
    position_of_node_.resize(holders_first.size());
    position_of_component_.assign(components.count(), kNone);
    TreeIx last = graph::kRoot;
    for (const NodeIx node : holders_first) {
        const ComponentIx component = components.of[node];
        if (position_of_component_[component] == kNone && components.cyclic[component]) {
            position_of_component_[component] = last = next_index(last);
        }
        position_of_node_[node] = last = next_index(last);
        if (!components.cyclic[component]) {
            position_of_component_[component] = position_of_node_[node];
        }
    }
    first_storage_ = next_index(last);
}

graph::DominatorTree RetainedSize::build_tree(const CollapsedGraph& graph,
                                              const Components& components) {
    graph::Rows<TreeIx, TreeIx> rows(index_of(first_storage_) + observation_.storages.size());
    const auto for_each_reference = [&](auto&& visit) {
        for (const NodeIx node : graph.all_nodes()) {
            const ComponentIx component = components.of[node];
            if (components.cyclic[component]) {
                visit(position_of_component_[component], position_of_node_[node]);
            }
            for (const NodeIx target : graph.targets_of(node)) {
                if (components.of[target] != component) {
                    visit(position_of_node_[node], position_of_component_[components.of[target]]);
                }
            }
            for (const OwnerId owner : owners_of(node)) {
                visit(position_of_node_[node], position_of(storage_of(owner)));
            }
        }
    };
    for_each_reference([&](TreeIx, TreeIx to) { rows.count(to); });
    rows.begin_filling();
    for_each_reference([&](TreeIx from, TreeIx to) { rows.fill(to, from); });
    for (const ComponentIx c : components.all()) {
        one_way_.push_back(rows.of(position_of_component_[c]).size() == 1);
    }
    return graph::dominators(rows);
}

void RetainedSize::mark_nodes_above_owners(const CollapsedGraph& graph,
                                           std::span<const NodeIx> holders_first) {
    leads_to_released_.assign(position_of_component_.size(), false);
    const auto leads = [this](NodeIx node) { return leads_to_released(node); };
    for (auto node = holders_first.rbegin(); node != holders_first.rend(); ++node) {
        if (owns_released(*node) || std::ranges::any_of(graph.targets_of(*node), leads)) {
            leads_to_released_[component_of_[*node]] = true;
        }
    }
}

void RetainedSize::find_cycles_above(const CollapsedGraph& graph,
                                     const Components& components,
                                     std::span<const NodeIx> holders_first) {
    cycle_above_.assign(components.count(), kNone);
    for (const NodeIx node : holders_first) {
        const ComponentIx component = component_of_[node];
        const ComponentIx cycles = cycles_to(component, components);
        if (cycles == kNone) {
            continue;
        }
        for (const NodeIx target : graph.targets_of(node)) {
            if (component_of_[target] != component) {
                ComponentIx& above = cycle_above_[component_of_[target]];
                above = unite(above, cycles);
            }
        }
    }
}

// The set (see unite()) of all components that have a cycle and can reach `component`. The set
// includes `component` itself if it has a cycle.
ComponentIx RetainedSize::cycles_to(ComponentIx component, const Components& components) const {
    const ComponentIx above = cycle_above_[component];
    return components.cyclic[component] ? unite(above, component) : above;
}

// Breaking the cycles of a component frees a storage if no owner of the storage can be reached from
// another cycle.
void RetainedSize::add_up_freed(const CollapsedGraph& graph, const Components& components) {
    freed_ = held_;
    IndexSet<StorageId> counted(observation_.storages.size());
    for (const model::DeviceOwner& owner : observation_.owners) {
        const ComponentIx keeper = keeper_[owner.storage];
        const model::Storage& storage = observation_.storage_of(owner);
        const ComponentIx component = component_of_[graph.node_of(owner)];
        if (storage.released && keeper != kNone && cycles_to(component, components) != keeper &&
            counted.insert(owner.storage)) {
            freed_[keeper] -= storage.bytes;
        }
    }
}

double RetainedSize::freed_with(NodeIx node) const {
    const ComponentIx component = component_of_[node];
    const std::uint64_t held = held_[component];
    if (held == 0) {
        return cycle_above_[component] == kNone ? 1 : 0;
    }
    return static_cast<double>(freed_[component]) / static_cast<double>(held);
}

void RetainedSize::mark_kept_from_outside(const CollapsedGraph& graph,
                                          const Components& components,
                                          std::span<const NodeIx> holders_first) {
    IndexedVector<NodeIx, bool> referenced(graph.size(), false);
    IndexedVector<NodeIx, bool> below_root(graph.size(), false);
    for (const NodeIx node : holders_first) {
        if (components.cyclic[component_of_[node]]) {
            below_root[node] = false;
        } else if (!referenced[node]) {
            below_root[node] = true;
        }
        for (const NodeIx target : graph.targets_of(node)) {
            referenced[target] = true;
            below_root[target] = below_root[target] || below_root[node];
        }
    }
    kept_from_outside_.assign(observation_.storages.size(), false);
    for (const model::DeviceOwner& owner : observation_.owners) {
        if (below_root[graph.node_of(owner)]) {
            kept_from_outside_[owner.storage] = true;
        }
    }
}

void RetainedSize::add_up(const Components& components) {
    const std::size_t positions = tree_.parent.size();
    IndexedVector<TreeIx, ComponentIx> nearest(positions, kNone);  // nearest dominator with a cycle
    for (const ComponentIx c : components.all()) {
        if (components.cyclic[c]) {
            nearest[position_of_component_[c]] = c;
        }
    }
    for (const TreeIx p : tree_.below_root()) {
        if (nearest[p] == kNone) {
            nearest[p] = nearest[tree_.parent[p]];
        }
    }
    kept_.assign(positions, 0);
    held_.assign(components.count(), 0);
    keeper_.assign(observation_.storages.size(), kNone);
    for (const StorageId s : keeper_.indexes()) {
        const model::Storage& storage = observation_.storage(s);
        keeper_[s] = nearest[position_of(s)];
        if (!storage.released) {
            continue;
        }
        kept_[position_of(s)] = storage.bytes;
        if (keeper_[s] != kNone) {
            held_[keeper_[s]] += storage.bytes;
        }
    }
    kept_alone_ = kept_;
    for (const TreeIx p : tree_.below_root() | std::views::reverse) {
        kept_[tree_.parent[p]] += kept_[p];
        if (nearest[p] == nearest[tree_.parent[p]]) {
            kept_alone_[tree_.parent[p]] += kept_alone_[p];
        }
    }
}

std::uint64_t RetainedSize::kept_through(NodeIx holder, NodeIx target) const {
    const TreeIx position = position_of_component_[component_of_[target]];
    if (position != position_of_node_[target]) {
        return 0;  // the target is in a cycle
    }
    return tree_.parent[position] == position_of_node_[holder] ? kept_alone_[position] : 0;
}

}  // namespace cyclewatch::analysis
