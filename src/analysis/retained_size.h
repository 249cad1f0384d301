// SPDX-License-Identifier: Apache-2.0
// Who keeps which device bytes: dominance over the condensed graph, each storage once.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "analysis/collapsed_graph.h"
#include "analysis/dominators.h"
#include "analysis/representatives.h"
#include "analysis/strong_components.h"

namespace cyclewatch::analysis {

// A variable that several references go through (one cell of several functions): whoever empties it
// takes it from all of them at once.
struct SharedVariable {
    std::vector<std::uint32_t> edges;  // collapsed references through it, rising
    std::uint64_t bytes = 0;           // that nothing but this variable leads to
};

// What a node owns of a storage. The bytes of one that something alive still holds are 0.
struct Owned {
    model::StorageId storage;
    std::uint64_t bytes;
};

// One tree over components, their members and the storages. A component with a cycle is a node
// that refers to all its members, and the references among the members are left out: so the
// tree tells what a component keeps and what each single member of it keeps. A shared variable is
// a node of its own, so that it is told what hangs on the variable and on no one function.
class RetainedSize {
  public:
    RetainedSize(const CollapsedGraph& graph,
                 const StrongComponents& components,
                 const Representatives& representatives);

    // Bytes of the storages whose nearest dominating component with a cycle is `component`. A
    // storage that several owners view counts only if all of them are dominated.
    [[nodiscard]] std::uint64_t held_by(std::uint32_t component) const { return held_[component]; }

    // Bytes that only `node` leads to, other than by going round the cycle it is in.
    [[nodiscard]] std::uint64_t kept_by(std::uint32_t node) const {
        return kept_[position_of_node_[node]];
    }
    // Bytes that only references from `holder` to `target`'s component lead to, and that no cycle
    // further down keeps.
    [[nodiscard]] std::uint64_t kept_through(std::uint32_t holder, std::uint32_t target) const;

    // True if one reference alone, from anywhere, leads to `target`'s component from outside.
    [[nodiscard]] bool has_one_way(std::uint32_t target) const {
        return one_way_[component_of_[target]];
    }

    // Of the component of `node`: held_by(), and the shared variables through which it holds some
    // of that, largest first.
    [[nodiscard]] std::uint64_t held_with(std::uint32_t node) const {
        return held_[component_of_[node]];
    }
    [[nodiscard]] std::vector<SharedVariable> variables_of(std::uint32_t node) const;

    [[nodiscard]] std::uint32_t component_of(std::uint32_t node) const {
        return component_of_[node];
    }
    [[nodiscard]] bool has_cycle(std::uint32_t node) const {
        return has_cycle_[component_of_[node]];
    }

    // Of held_with(), what goes as soon as the cycles of that component end, 0 to 1: not what
    // another cycle, further up or down, leads to as well.
    [[nodiscard]] double freed_with(std::uint32_t node) const;

    // True if `node` is an owner, or an owner can be reached from it.
    [[nodiscard]] bool leads_to_owner(std::uint32_t node) const {
        return leads_to_owner_[component_of_[node]];
    }

    // True if an owner whose storage is freed by the collection is `node`, or can be reached from
    // it.
    [[nodiscard]] bool leads_to_released(std::uint32_t node) const {
        return leads_to_released_[component_of_[node]];
    }

    // What `node` itself owns.
    [[nodiscard]] std::span<const Owned> owned_by(std::uint32_t node) const {
        return owned_.of(node);
    }

    // The component that keeps the bytes of `storage`, or kNone.
    [[nodiscard]] std::uint32_t keeper_of(model::StorageId storage) const {
        return keeper_[index_of(storage)];
    }

    // True if a way leads to `storage` from an object that nobody in the graph holds and that is on
    // no cycle, other than through a cycle: whatever holds that object keeps the storage too.
    [[nodiscard]] bool hangs_off_unheld(model::StorageId storage) const {
        return hangs_off_unheld_[index_of(storage)];
    }

  private:
    struct Variable {
        std::uint32_t component;  // of what it refers to
        std::vector<std::uint32_t> edges;
        std::uint32_t position = 0;
    };

    void list_owned(const CollapsedGraph& graph, const Representatives& representatives);
    void find_variables(const CollapsedGraph& graph);
    void number(const StrongComponents& components, std::span<const std::uint32_t> holders_first);
    [[nodiscard]] DominatorTree build_tree(const CollapsedGraph& graph,
                                           const StrongComponents& components,
                                           const Representatives& representatives);
    void mark_ways(const CollapsedGraph& graph,
                   std::span<const std::uint32_t> holders_first,
                   const Representatives& representatives);
    void mark_below_cycles(const CollapsedGraph& graph,
                           const StrongComponents& components,
                           std::span<const std::uint32_t> holders_first);
    [[nodiscard]] std::uint32_t cycles_to(std::uint32_t component,
                                          const StrongComponents& components) const;
    void add_up_freed(const CollapsedGraph& graph,
                      const StrongComponents& components,
                      const Representatives& representatives);
    void mark_unheld(const CollapsedGraph& graph,
                     const StrongComponents& components,
                     std::span<const std::uint32_t> holders_first,
                     const Representatives& representatives);
    void add_up(const StrongComponents& components, const Representatives& representatives);

    std::vector<std::uint32_t> component_of_;           // per node
    std::vector<Variable> variables_;                   // rising components
    std::vector<std::uint32_t> variable_of_;            // per collapsed reference, or kNone
    std::vector<std::uint32_t> position_of_node_;       // in the tree
    std::vector<std::uint32_t> position_of_component_;  // of a trivial one: its node's
    std::uint32_t first_storage_ = 0;                   // position
    DominatorTree tree_;
    std::vector<std::uint64_t> kept_;         // per position
    std::vector<std::uint64_t> kept_alone_;   // the same without what cycles further down keep
    std::vector<std::uint64_t> held_;         // per component
    std::vector<std::uint32_t> keeper_;       // per storage
    std::vector<std::uint64_t> freed_;        // per component: of held_, with its cycles
    std::vector<std::uint32_t> cycle_above_;  // per component: the one with a cycle that leads to
                                              // it; kNone: none does, kSeveral
    std::vector<bool> leads_to_owner_;        // per component
    std::vector<bool> leads_to_released_;     // per component
    std::vector<bool> one_way_;               // per component
    std::vector<bool> has_cycle_;             // per component
    Rows<Owned> owned_;                       // per node
    // Per component with a cycle: variables_ whose bytes it keeps.
    std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> variables_kept_;
    std::vector<bool> hangs_off_unheld_;  // per storage
};

}  // namespace cyclewatch::analysis
