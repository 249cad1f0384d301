// SPDX-License-Identifier: Apache-2.0
// Who keeps which device bytes: dominance over the condensed graph, each storage once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/dominators.h"
#include "analysis/logical_graph.h"
#include "analysis/sample.h"
#include "analysis/strong_components.h"

namespace cyclewatch::analysis {

// One tree over components, their members and the storages. A component with a loop is a node
// that refers to all its members, and the references among the members are left out: so the
// tree tells what a component keeps and what each single member of it keeps.
class HeldBytes {
  public:
    HeldBytes(const LogicalGraph& graph, const StrongComponents& components, const Sample& sample);

    // Bytes of the storages whose nearest dominating component with a loop is `component`. A
    // storage that several owners view counts only if all of them are dominated.
    [[nodiscard]] std::uint64_t held_by(std::uint32_t component) const { return held_[component]; }

    // Bytes that only `node` leads to, other than by going round the loop it is in.
    [[nodiscard]] std::uint64_t kept_by(std::uint32_t node) const {
        return kept_[position_of_node_[node]];
    }
    // Bytes that only references from `holder` to `target`'s component lead to.
    [[nodiscard]] std::uint64_t kept_through(std::uint32_t holder, std::uint32_t target) const;

    [[nodiscard]] bool same_component(std::uint32_t a, std::uint32_t b) const {
        return component_of_[a] == component_of_[b];
    }

    // True if `node` is an owner, or an owner can be reached from it.
    [[nodiscard]] bool leads_to_owner(std::uint32_t node) const {
        return leads_to_owner_[component_of_[node]];
    }

    // The component that keeps the bytes of `storage`, or kNone.
    [[nodiscard]] std::uint32_t keeper_of(model::StorageId storage) const {
        return keeper_[index_of(storage)];
    }

    // True if a way leads to `storage` from an object that nobody in the graph holds and that is on
    // no loop, other than through a loop: whatever holds that object keeps the storage too.
    [[nodiscard]] bool hangs_off_unheld(model::StorageId storage) const {
        return hangs_off_unheld_[index_of(storage)];
    }

  private:
    void number(const StrongComponents& components, std::span<const std::uint32_t> holders_first);
    [[nodiscard]] DominatorTree build_tree(const LogicalGraph& graph,
                                           const StrongComponents& components,
                                           const Sample& sample) const;
    void mark_ways(const LogicalGraph& graph,
                   std::span<const std::uint32_t> holders_first,
                   const Sample& sample);
    void mark_unheld(const LogicalGraph& graph,
                     const StrongComponents& components,
                     std::span<const std::uint32_t> holders_first,
                     const Sample& sample);
    void add_up(const StrongComponents& components, const Sample& sample);

    std::vector<std::uint32_t> component_of_;           // per node
    std::vector<std::uint32_t> position_of_node_;       // in the tree
    std::vector<std::uint32_t> position_of_component_;  // of a trivial one: its node's
    std::uint32_t first_storage_ = 0;                   // position
    DominatorTree tree_;
    std::vector<std::uint64_t> kept_;     // per position
    std::vector<std::uint64_t> held_;     // per component
    std::vector<std::uint32_t> keeper_;   // per storage
    std::vector<bool> leads_to_owner_;    // per component
    std::vector<bool> hangs_off_unheld_;  // per storage
};

}  // namespace cyclewatch::analysis
