// SPDX-License-Identifier: Apache-2.0
#include "analysis/retained_size.h"

#include <algorithm>

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
    for (const ComponentIx component : base::Reversed{components.all()}) {
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
    : graph_(graph),
      components_(components),
      observation_(observation),
      owners_of_(graph::listed_by(nodes_of_owners(graph, observation), graph.size())) {
    const std::vector<NodeIx> nodes = topological_order(components);
    number_tree_nodes(nodes);
    tree_ = build_tree();
    mark_nodes_above_owners(nodes);
    find_cycles_above(nodes);
    mark_kept_from_outside(nodes);
    add_up();
    add_up_freed();
}

void RetainedSize::number_tree_nodes(std::span<const NodeIx> holders_first) {
    position_of_node_.resize(holders_first.size());
    position_of_component_.assign(components_.count(), kNone);
    TreeIx last = graph::kRoot;
    for (const NodeIx node : holders_first) {
        const ComponentIx component = components_.of[node];
        if (position_of_component_[component] == kNone && components_.cyclic[component]) {
            position_of_component_[component] = last = next_index(last);
        }
        position_of_node_[node] = last = next_index(last);
        if (!components_.cyclic[component]) {
            position_of_component_[component] = position_of_node_[node];
        }
    }
    first_storage_ = next_index(last);
}

graph::DominatorTree RetainedSize::build_tree() {
    const std::size_t size = index_of(first_storage_) + observation_.storages.size();
    const graph::Rows<TreeIx, TreeIx> holders(size, [&](auto visit) {
        for (const NodeIx node : graph_.all_nodes()) {
            const TreeIx position = position_of_node_[node];
            const ComponentIx component = components_.of[node];
            if (components_.cyclic[component]) {
                visit(position, position_of_component_[component]);
            }
            for (const NodeIx target : graph_.targets_of(node)) {
                if (components_.of[target] != component) {
                    visit(position_of_component_[components_.of[target]], position);
                }
            }
            for (const OwnerId owner : owners_of(node)) {
                visit(position_of(storage_of(owner)), position);
            }
        }
    });
    for (const ComponentIx c : components_.all()) {
        one_way_.push_back(holders.of(position_of_component_[c]).size() == 1);
    }
    return graph::dominators(holders);
}

void RetainedSize::mark_nodes_above_owners(std::span<const NodeIx> holders_first) {
    const auto leads = [this](NodeIx node) { return leads_to_released(node); };
    for (const NodeIx node : base::Reversed{holders_first}) {
        if (owns_released(node) || std::ranges::any_of(graph_.targets_of(node), leads)) {
            leads_to_released_.insert(components_.of[node]);
        }
    }
}

void RetainedSize::find_cycles_above(std::span<const NodeIx> holders_first) {
    cycle_above_.assign(components_.count(), kNone);
    for (const NodeIx node : holders_first) {
        const ComponentIx component = components_.of[node];
        const ComponentIx cycles = cycles_to(component);
        if (cycles == kNone) {
            continue;
        }
        for (const NodeIx target : graph_.targets_of(node)) {
            if (components_.of[target] != component) {
                ComponentIx& above = cycle_above_[components_.of[target]];
                above = unite(above, cycles);
            }
        }
    }
}

// The set (see unite()) of all components that have a cycle and can reach `component`. The set
// includes `component` itself if it has a cycle.
ComponentIx RetainedSize::cycles_to(ComponentIx component) const {
    const ComponentIx above = cycle_above_[component];
    return components_.cyclic[component] ? unite(above, component) : above;
}

// Breaking the cycles of a component frees a storage if no owner of the storage can be reached from
// another cycle.
void RetainedSize::add_up_freed() {
    freed_ = held_;
    IndexSet<StorageId> counted(observation_.storages.size());
    for (const model::DeviceOwner& owner : observation_.owners) {
        const ComponentIx keeper = keeper_[owner.storage];
        const model::Storage& storage = observation_.storage_of(owner);
        const ComponentIx component = components_.of[graph_.node_of(owner)];
        if (storage.released && keeper != kNone && cycles_to(component) != keeper &&
            counted.insert(owner.storage)) {
            freed_[keeper] -= storage.bytes;
        }
    }
}

double RetainedSize::freed_share(ComponentIx component) const {
    const std::uint64_t held = held_[component];
    if (held == 0) {
        return cycle_above_[component] == kNone ? 1 : 0;
    }
    return static_cast<double>(freed_[component]) / static_cast<double>(held);
}

void RetainedSize::mark_kept_from_outside(std::span<const NodeIx> holders_first) {
    IndexSet<NodeIx> referenced(graph_.size());
    IndexedVector<NodeIx, bool> below_root(graph_.size(), false);
    for (const NodeIx node : holders_first) {
        if (components_.cyclic[components_.of[node]]) {
            below_root[node] = false;
        } else if (!referenced.contains(node)) {
            below_root[node] = true;
        }
        for (const NodeIx target : graph_.targets_of(node)) {
            referenced.insert(target);
            below_root[target] = below_root[target] || below_root[node];
        }
    }
    for (const model::DeviceOwner& owner : observation_.owners) {
        if (below_root[graph_.node_of(owner)]) {
            kept_from_outside_.insert(owner.storage);
        }
    }
}

void RetainedSize::add_up() {
    const std::size_t positions = tree_.parent.size();
    IndexedVector<TreeIx, ComponentIx> nearest(positions, kNone);  // nearest dominator with a cycle
    for (const ComponentIx c : components_.all()) {
        if (components_.cyclic[c]) {
            nearest[position_of_component_[c]] = c;
        }
    }
    for (const TreeIx p : tree_.below_root()) {
        if (nearest[p] == kNone) {
            nearest[p] = nearest[tree_.parent[p]];
        }
    }
    kept_.assign(positions, 0);
    held_.assign(components_.count(), 0);
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
    for (const TreeIx p : base::Reversed{tree_.below_root()}) {
        kept_[tree_.parent[p]] += kept_[p];
        if (nearest[p] == nearest[tree_.parent[p]]) {
            kept_alone_[tree_.parent[p]] += kept_alone_[p];
        }
    }
}

std::uint64_t RetainedSize::kept_through(NodeIx holder, NodeIx target) const {
    const TreeIx position = position_of_component_[components_.of[target]];
    if (position != position_of_node_[target]) {
        return 0;  // the target is in a cycle
    }
    return tree_.parent[position] == position_of_node_[holder] ? kept_alone_[position] : 0;
}

}  // namespace cyclewatch::analysis
