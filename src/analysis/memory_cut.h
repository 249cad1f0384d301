// SPDX-License-Identifier: Apache-2.0
// Where no single reference leads to the memory of a loop: the fewest that do together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/adjacency.h"
#include "analysis/component.h"
#include "analysis/held_bytes.h"
#include "analysis/logical_graph.h"

namespace cyclewatch::analysis {

struct MemoryCut {
    // Each one logical reference, or all that go through one variable.
    std::vector<std::vector<std::uint32_t>> items;
    double share = 0;  // of the memory, how much is free without them; 0 if others keep it
};

// Looks for all components of one observation, and for no longer than a number of passes over
// the whole graph: many components may lead to the same.
class MemoryCutter {
  public:
    // Both must outlive it.
    MemoryCutter(const LogicalGraph& graph, const HeldBytes& held);

    // The references without which at least half of what `component` keeps is free, though its
    // loops stay; of what it and others keep together, if it keeps nothing alone. None of them is
    // structural, is a child of a torch.nn.Module, or leads to a function or class that keeps the
    // memory in turn. No items if it
    // would take more than `most`, or there was too much to look at.
    [[nodiscard]] MemoryCut find(const Component& component, std::size_t most);

  private:
    void index();

    const LogicalGraph& graph_;
    const HeldBytes& held_;
    bool indexed_ = false;     // holders_ and owners_ are filled, as the first search needs them
    Rows<> holders_;           // per node: of the references to it
    Rows<> owners_;            // per storage: logical nodes
    std::uint64_t work_left_;  // nodes and references
};

}  // namespace cyclewatch::analysis
