// SPDX-License-Identifier: Apache-2.0
// Computes retained sizes, that is, how many device bytes each cycle or object keeps alive. Each
// storage is counted once. Uses the dominators of the condensed graph, as heap analysers do.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/collapsed_graph.h"
#include "graph/dominators.h"
#include "graph/strong_components.h"
#include "model/observation.h"

namespace cyclewatch::analysis {

using graph::ComponentIx;
using model::OwnerId;
using model::StorageId;

using Components = graph::StrongComponents<NodeIx>;  // of the collapsed graph

// Builds one dominator tree over components, their members and storages. A component with a cycle
// is one node that refers to all its members; references among the members are omitted. The tree
// therefore provides the retained sizes of both the component and each member.
class RetainedSize {
  public:
    // All arguments must outlive this object.
    RetainedSize(const CollapsedGraph& graph,
                 const Components& components,
                 const model::Observation& observation);

    // Bytes of the storages for which `component` is the nearest dominator that has a cycle. A
    // storage with several owners counts only if `component` dominates all of them.
    [[nodiscard]] std::uint64_t held_by(ComponentIx component) const { return held_[component]; }

    // Bytes dominated by `node`, ignoring references inside its component.
    [[nodiscard]] std::uint64_t kept_by(NodeIx node) const {
        return kept_[position_of_node_[node]];
    }
    // Bytes reachable only through references from `holder` to `target`, except bytes that another
    // cycle retains. 0 if `target` is on a cycle.
    [[nodiscard]] std::uint64_t kept_through(NodeIx holder, NodeIx target) const;

    // True if exactly one reference leads to `target`'s component from outside.
    [[nodiscard]] bool has_one_way(NodeIx target) const { return one_way_[components_.of[target]]; }

    [[nodiscard]] ComponentIx component_of(NodeIx node) const { return components_.of[node]; }
    [[nodiscard]] bool has_cycle(NodeIx node) const {
        return components_.cyclic[component_of(node)];
    }

    // The fraction of held_by() that is freed if the cycles of `component` are broken. Memory that
    // another cycle can reach is not freed.
    [[nodiscard]] double freed_share(ComponentIx component) const;

    // True if `node` owns a storage that the collection frees.
    [[nodiscard]] bool owns_released(NodeIx node) const {
        return std::ranges::any_of(owners_of(node),
                                   [this](OwnerId owner) { return is_released(owner); });
    }

    // True if `node`, or a node that can be reached from it, owns a storage that the collection
    // frees.
    [[nodiscard]] bool leads_to_released(NodeIx node) const {
        return leads_to_released(components_.of[node]);
    }
    [[nodiscard]] bool leads_to_released(ComponentIx component) const {
        return leads_to_released_.contains(component);
    }

    // The owners that `node` represents.
    [[nodiscard]] std::span<const OwnerId> owners_of(NodeIx node) const {
        return owners_of_.of(node);
    }

    [[nodiscard]] StorageId storage_of(OwnerId owner) const {
        return observation_.owner(owner).storage;
    }

    // True if the collection frees the storage of `owner`; false if a live object still holds it.
    [[nodiscard]] bool is_released(OwnerId owner) const {
        return observation_.storage(storage_of(owner)).released;
    }

    // The component whose held_by() includes `storage`, or kNone.
    [[nodiscard]] ComponentIx keeper_of(StorageId storage) const { return keeper_[storage]; }

    // True if `storage` can be reached, without passing through a cycle, from an object to which
    // nothing in the graph refers. In that case, an object outside the graph also keeps the storage
    // alive.
    [[nodiscard]] bool is_kept_from_outside(StorageId storage) const {
        return kept_from_outside_.contains(storage);
    }

  private:
    void number_tree_nodes(std::span<const NodeIx> holders_first);
    [[nodiscard]] graph::DominatorTree build_tree();
    void mark_nodes_above_owners(std::span<const NodeIx> holders_first);
    void find_cycles_above(std::span<const NodeIx> holders_first);
    [[nodiscard]] ComponentIx cycles_to(ComponentIx component) const;
    void add_up_freed();
    void mark_kept_from_outside(std::span<const NodeIx> holders_first);
    void add_up();
    [[nodiscard]] graph::TreeIx position_of(StorageId storage) const {
        return static_cast<graph::TreeIx>(index_of(first_storage_) + index_of(storage));
    }

    const CollapsedGraph& graph_;
    const Components& components_;
    const model::Observation& observation_;
    IndexedVector<NodeIx, graph::TreeIx> position_of_node_;
    // The position of a component without a cycle is that of its only node.
    IndexedVector<ComponentIx, graph::TreeIx> position_of_component_;
    graph::TreeIx first_storage_{};
    graph::DominatorTree tree_;
    IndexedVector<graph::TreeIx, std::uint64_t> kept_;        // dominated bytes
    IndexedVector<graph::TreeIx, std::uint64_t> kept_alone_;  // without bytes of nested cycles
    IndexedVector<ComponentIx, std::uint64_t> held_;
    IndexedVector<StorageId, ComponentIx> keeper_;
    IndexedVector<ComponentIx, std::uint64_t> freed_;  // see freed_share()
    // The only other component that has a cycle and can reach the component. kNone if there is
    // none, kSeveral if there are several.
    IndexedVector<ComponentIx, ComponentIx> cycle_above_;
    IndexSet<ComponentIx> leads_to_released_;
    IndexedVector<ComponentIx, bool> one_way_;
    graph::Rows<NodeIx, OwnerId> owners_of_;
    IndexSet<StorageId> kept_from_outside_;
};

}  // namespace cyclewatch::analysis
