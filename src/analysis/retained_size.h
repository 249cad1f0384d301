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

// Builds one dominator tree over components, their members and storages. A component with a cycle
// is one node that refers to all its members; references among the members are omitted. The tree
// therefore provides the retained sizes of both the component and each member.
class RetainedSize {
  public:
    RetainedSize(const CollapsedGraph& graph,
                 const graph::StrongComponents& components,
                 const model::Observation& observation);

    // Bytes of the storages for which `component` is the nearest dominator that has a cycle. A
    // storage with several owners counts only if `component` dominates all of them.
    [[nodiscard]] std::uint64_t held_by(std::uint32_t component) const { return held_[component]; }

    // Bytes dominated by `node`, ignoring references inside its component.
    [[nodiscard]] std::uint64_t kept_by(std::uint32_t node) const {
        return kept_[position_of_node_[node]];
    }
    // Bytes reachable only through references from `holder` to `target`, except bytes that another
    // cycle retains. 0 if `target` is on a cycle.
    [[nodiscard]] std::uint64_t kept_through(std::uint32_t holder, std::uint32_t target) const;

    // True if exactly one reference leads to `target`'s component from outside.
    [[nodiscard]] bool has_one_way(std::uint32_t target) const {
        return one_way_[component_of_[target]];
    }

    // held_by() for the component that contains `node`.
    [[nodiscard]] std::uint64_t held_with(std::uint32_t node) const {
        return held_[component_of_[node]];
    }

    [[nodiscard]] std::uint32_t component_of(std::uint32_t node) const {
        return component_of_[node];
    }
    [[nodiscard]] bool has_cycle(std::uint32_t node) const {
        return has_cycle_[component_of_[node]];
    }

    // The fraction of held_with() that is freed if the cycles of the component are broken. Memory
    // that another cycle can reach is not freed.
    [[nodiscard]] double freed_with(std::uint32_t node) const;

    // True if `node` owns a storage that the collection frees.
    [[nodiscard]] bool owns_released(std::uint32_t node) const {
        return std::ranges::any_of(owners_of(node),
                                   [this](std::uint32_t owner) { return is_released(owner); });
    }

    // True if `node`, or a node that can be reached from it, owns a storage that the collection
    // frees.
    [[nodiscard]] bool leads_to_released(std::uint32_t node) const {
        return leads_to_released_[component_of_[node]];
    }

    // The owners (indexes into Observation::owners) that `node` represents.
    [[nodiscard]] std::span<const std::uint32_t> owners_of(std::uint32_t node) const {
        return owners_of_.of(node);
    }

    [[nodiscard]] model::StorageId storage_of(std::uint32_t owner) const {
        return observation_.owners[owner].storage;
    }

    // True if the collection frees the storage of `owner`; false if a live object still holds it.
    [[nodiscard]] bool is_released(std::uint32_t owner) const {
        return observation_.storages[index_of(storage_of(owner))].released;
    }

    // The component whose held_by() includes `storage`, or kNone.
    [[nodiscard]] std::uint32_t keeper_of(model::StorageId storage) const {
        return keeper_[index_of(storage)];
    }

    // True if `storage` can be reached, without passing through a cycle, from an object to which
    // nothing in the graph refers. In that case, an object outside the graph also keeps the storage
    // alive.
    [[nodiscard]] bool is_kept_from_outside(model::StorageId storage) const {
        return kept_from_outside_[index_of(storage)];
    }

  private:
    void number_tree_nodes(const graph::StrongComponents& components,
                           std::span<const std::uint32_t> holders_first);
    [[nodiscard]] graph::DominatorTree build_tree(const CollapsedGraph& graph,
                                                  const graph::StrongComponents& components);
    void mark_nodes_above_owners(const CollapsedGraph& graph,
                                 std::span<const std::uint32_t> holders_first);
    void find_cycles_above(const CollapsedGraph& graph,
                           const graph::StrongComponents& components,
                           std::span<const std::uint32_t> holders_first);
    [[nodiscard]] std::uint32_t cycles_to(std::uint32_t component,
                                          const graph::StrongComponents& components) const;
    void add_up_freed(const CollapsedGraph& graph, const graph::StrongComponents& components);
    void mark_kept_from_outside(const CollapsedGraph& graph,
                                const graph::StrongComponents& components,
                                std::span<const std::uint32_t> holders_first);
    void add_up(const graph::StrongComponents& components);

    const model::Observation& observation_;
    std::vector<std::uint32_t> component_of_;           // per node
    std::vector<std::uint32_t> position_of_node_;       // in the tree
    std::vector<std::uint32_t> position_of_component_;  // without a cycle: that of its only node
    std::uint32_t first_storage_ = 0;                   // position
    graph::DominatorTree tree_;
    std::vector<std::uint64_t> kept_;        // per position: dominated bytes
    std::vector<std::uint64_t> kept_alone_;  // per position: kept_ without bytes of nested cycles
    std::vector<std::uint64_t> held_;        // per component
    std::vector<std::uint32_t> keeper_;      // per storage
    std::vector<std::uint64_t> freed_;       // per component: see freed_with()
    // Per component c, the only other component that has a cycle and can reach c. kNone if there is
    // none, kSeveral if there are several.
    std::vector<std::uint32_t> cycle_above_;
    std::vector<bool> leads_to_released_;  // per component
    std::vector<bool> one_way_;            // per component
    std::vector<bool> has_cycle_;          // per component
    graph::Rows owners_of_;                // per node
    std::vector<bool> kept_from_outside_;  // per storage
};

}  // namespace cyclewatch::analysis
