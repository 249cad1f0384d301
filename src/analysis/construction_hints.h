// SPDX-License-Identifier: Apache-2.0
// Determines which object of a cycle is the parent and which is the child, from names and from the
// code that stores the attributes (model::AttributeSite). docs/design/analysis.md explains each
// hint.
#pragma once

#include "analysis/cycle_view.h"

namespace cyclewatch::analysis {

// Hints about reference `i` of a cycle. They are meaningful only if the reference is an attribute.
class ConstructionHints {
  public:
    // `cycle` must outlive this object.
    explicit ConstructionHints(const CycleView& cycle) : cycle_(cycle), graph_(cycle.graph) {}

    // The name of the attribute suggests a parent or a predecessor: "parent", "_owner",
    // "prev_stage".
    [[nodiscard]] bool is_named_as_parent(std::size_t i) const;

    // The target creates the holder. Also true if, for every other reference of the cycle, the
    // holder created the target.
    [[nodiscard]] bool leads_back_to_creator(std::size_t i) const;

    // True if the code that stores the target also creates it, so that nothing else keeps the
    // target alive.
    [[nodiscard]] bool creates_target(std::size_t i) const {
        return origin_of_value(i) == model::ValueOrigin::made;
    }

    // A method of the target's class stores `self` in this attribute, as in `child.parent = self`.
    [[nodiscard]] bool stores_itself(std::size_t i) const;

    // According to the code, another reference of the cycle is the back reference.
    [[nodiscard]] bool is_clearly_forward(std::size_t i) const;

    // The holder is a handle that the target creates and stores, such as a cursor, a lease or a
    // view.
    [[nodiscard]] bool is_handle(std::size_t i) const;
    // Through reference `i`, the holder stores a handle, directly or in a container.
    [[nodiscard]] bool keeps_handle(std::size_t i) const;

  private:
    [[nodiscard]] model::ValueOrigin origin_of_value(std::size_t i) const;
    [[nodiscard]] bool was_passed_the_way(std::size_t i) const;
    [[nodiscard]] bool is_created_by_target(std::size_t i) const;
    [[nodiscard]] std::size_t way_into(std::size_t i) const;

    const CycleView& cycle_;
    const CollapsedGraph& graph_;
};

}  // namespace cyclewatch::analysis
