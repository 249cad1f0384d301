// SPDX-License-Identifier: Apache-2.0
// What the program's code says about the objects of a loop: which of them made, was given or gives
// out which. docs/design/analysis.md, "Who made whom", says why that matters.
#pragma once

#include "analysis/loop_view.h"

namespace cyclewatch::analysis {

// Answers about reference number `i` of a loop. Numbers of references that are not between objects
// may be asked for as well.
class WhoMadeWhom {
  public:
    // `loop` must outlive it.
    explicit WhoMadeWhom(const LoopView& loop) : loop_(loop), graph_(loop.graph) {}

    // The attribute is called what an object is a part of, or comes after: "parent", "_owner",
    // "prev_stage".
    [[nodiscard]] bool is_named_as_whole(std::size_t i) const;

    // Holder and target are of one class, or run one function.
    [[nodiscard]] bool are_alike(std::size_t i) const;

    // Of two links of a chain, the one that is called the way back: "previous".
    [[nodiscard]] bool is_named_as_link_back(std::size_t i) const;

    // The target, or the attribute, is called something that is made to read the holder and cached
    // in it: "Indexer", "_cached_view".
    [[nodiscard]] bool is_named_as_helper(std::size_t i) const;

    // The target made the holder, as far as the code tells; or all others of the loop lead from
    // maker to made, and reference `i` alone leads back.
    [[nodiscard]] bool leads_back_to_maker(std::size_t i) const;

    // All other objects of the loop were made with what they refer to, and reference `i` alone was
    // put into an object that had been made without it.
    [[nodiscard]] bool closes_loop_of_constructors(std::size_t i) const;

    // A method of the target's class stores the target here.
    [[nodiscard]] bool gives_itself(std::size_t i) const;

    // Item `i` is in a container of the target's, or of what the target made for itself.
    [[nodiscard]] bool is_in_own_container(std::size_t i) const;

    // The code says of another reference of the loop that it is the one that leads back.
    [[nodiscard]] bool is_clearly_ahead(std::size_t i) const;

    // The target made the holder, keeps it and gave it to whoever asked for it.
    [[nodiscard]] bool is_given_out(std::size_t i) const;
    // Reference `i` is the one by which such a holder is kept, by itself or in a container.
    [[nodiscard]] bool keeps_given_out(std::size_t i) const;
    // As is_given_out(), and the holder is an iterator.
    [[nodiscard]] bool is_iterator(std::size_t i) const;
    // The holder is there for whoever was given it: an iterator, or by its name a cursor, a lease,
    // a view.
    [[nodiscard]] bool is_handle(std::size_t i) const;
    // Reference `i` is the one by which such a holder is kept, by itself or in a container.
    [[nodiscard]] bool keeps_handle(std::size_t i) const;
    // The holder looks at the target, which lists it.
    [[nodiscard]] bool is_observer(std::size_t i) const;
    // Reference `i` leads to a list of objects that look at the one that keeps them.
    [[nodiscard]] bool keeps_observer(std::size_t i) const;

  private:
    [[nodiscard]] const model::AttributeSite* site(std::size_t i) const;
    [[nodiscard]] model::ValueOrigin origin_of_value(std::size_t i) const;
    [[nodiscard]] bool is_set_in_constructor(std::size_t i) const;
    [[nodiscard]] bool may_be_of_maker(std::size_t i) const;
    [[nodiscard]] bool is_made_by_target(std::size_t i) const;
    [[nodiscard]] bool leads_back(std::size_t i) const;
    [[nodiscard]] bool keeps_more_than_target(std::size_t i) const;
    [[nodiscard]] std::size_t way_back_from(std::size_t i) const;
    [[nodiscard]] std::size_t way_into(std::size_t i) const;

    const LoopView& loop_;
    const LogicalGraph& graph_;
};

}  // namespace cyclewatch::analysis
