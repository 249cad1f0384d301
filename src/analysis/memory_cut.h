// SPDX-License-Identifier: Apache-2.0
// Where no single reference leads to the memory of a loop: the fewest that do together.
#pragma once

#include <vector>

#include "analysis/component.h"
#include "analysis/held_bytes.h"
#include "analysis/logical_graph.h"

namespace cyclewatch::analysis {

struct MemoryCut {
    // Each one logical reference, or all that go through one variable.
    std::vector<std::vector<std::uint32_t>> items;
    double share = 0;  // of the memory, how much is free without them
};

// The references without which at least half of what `component` keeps is free, though its loops
// stay; of what it and others keep together, if it keeps nothing alone. None of them is structural,
// or leads to a function or class that keeps the memory in turn. No items if it would take more
// than `most` or the graph is too large to look.
[[nodiscard]] MemoryCut find_memory_cut(const LogicalGraph& graph,
                                        const Component& component,
                                        const HeldBytes& held,
                                        std::size_t most);

}  // namespace cyclewatch::analysis
