// SPDX-License-Identifier: Apache-2.0
// Which object of a cycle is the parent and which the child, as names and the program's code tell.
// What the code tells (model::AttributeSite) decides 6 of 135 programs that nobody had tuned the
// rules for, 8 of 92 in tests/corpus and 1 of 57 published libraries (docs/design/analysis.md).
#pragma once

#include "analysis/cycle_view.h"

namespace cyclewatch::analysis {

// Answers about reference number `i` of a cycle. References that are not between objects may be
// asked for as well.
class ConstructionHints {
  public:
    // `cycle` must outlive it.
    explicit ConstructionHints(const CycleView& cycle) : cycle_(cycle), graph_(cycle.graph) {}

    // The attribute has the name of a parent or a predecessor: "parent", "_owner", "prev_stage".
    [[nodiscard]] bool is_named_as_parent(std::size_t i) const;

    // The target, or the attribute, has the name of something that is made to read the holder and
    // cached in it: "Indexer", "_cached_view".
    [[nodiscard]] bool is_named_as_helper(std::size_t i) const;

    // The target creates the holder, or each other reference of the cycle leads from an object to
    // one that it creates.
    [[nodiscard]] bool leads_back_to_creator(std::size_t i) const;

    // A method of the target's class stores the target here: `child.parent = self`.
    [[nodiscard]] bool stores_itself(std::size_t i) const;

    // Item `i` is in a container of the target's, or of what the target created for itself.
    [[nodiscard]] bool is_in_own_container(std::size_t i) const;

    // The code says of another reference of the cycle that it leads back.
    [[nodiscard]] bool is_clearly_forward(std::size_t i) const;

    // The holder is a handle that the target created and keeps: a cursor, a lease, a view.
    [[nodiscard]] bool is_handle(std::size_t i) const;
    // Reference `i` is the one by which such a holder is kept, directly or in a container.
    [[nodiscard]] bool keeps_handle(std::size_t i) const;

  private:
    [[nodiscard]] const model::AttributeSite* site(std::size_t i) const;
    [[nodiscard]] model::ValueOrigin origin_of_value(std::size_t i) const;
    [[nodiscard]] bool have_one_type(std::size_t i) const;
    [[nodiscard]] bool is_created_by_target(std::size_t i) const;
    [[nodiscard]] std::size_t way_into(std::size_t i) const;

    const CycleView& cycle_;
    const CollapsedGraph& graph_;
};

}  // namespace cyclewatch::analysis
