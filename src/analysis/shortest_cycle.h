// SPDX-License-Identifier: Apache-2.0
// The cycle that stands for a component: the one a person should look at.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/component.h"

namespace cyclewatch::analysis {

// A cycle as positions in Component::edges, in order; empty: there is none.
using Cycle = std::vector<std::uint32_t>;

// The cycle through `start` with the fewest structural references, and of those the shortest.
[[nodiscard]] Cycle shortest_cycle(const Component& component,
                                   std::uint32_t start,
                                   std::span<const char> dead = {});

// The shortest cycle through the node that keeps most device bytes, among the nodes that are in a
// cycle without structural references; among all nodes, if there is no such cycle. An attribute by
// which an object refers to itself is the cycle only if there is no other. Starts at that node.
// Depends on names and references, not on the order of nodes.
[[nodiscard]] Cycle choose_cycle(const CollapsedGraph& graph, const Component& component);

}  // namespace cyclewatch::analysis
