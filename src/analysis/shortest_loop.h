// SPDX-License-Identifier: Apache-2.0
// The loop that stands for a component: the one a person should look at.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/component.h"

namespace cyclewatch::analysis {

// A loop as positions in Component::edges, in order; empty: there is none.
using Loop = std::vector<std::uint32_t>;

// The loop through `start` with the fewest structural references, and of those the shortest.
[[nodiscard]] Loop shortest_loop(const Component& component,
                                 std::uint32_t start,
                                 std::span<const char> dead = {});

// The shortest loop through the node that keeps most device bytes, among the nodes that are in a
// loop without structural references; among all nodes, if there is no such loop. An attribute by
// which an object refers to itself is the loop only if there is no other. Starts at that node.
// Depends on names and references, not on the order of nodes.
[[nodiscard]] Loop choose_loop(const LogicalGraph& graph, const Component& component);

}  // namespace cyclewatch::analysis
