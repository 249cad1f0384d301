// SPDX-License-Identifier: Apache-2.0
// Strongly connected components (Tarjan, "Depth-First Search and Linear Graph Algorithms", 1972),
// with an explicit stack instead of recursion.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/adjacency.h"

namespace cyclewatch::graph {

struct StrongComponents {
    std::vector<std::uint32_t> of;    // per node: its component
    std::vector<std::uint32_t> size;  // per component
    std::vector<bool> cyclic;         // per component: contains a cycle or a self-reference

    [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(size.size()); }
};

// Components are numbered in reverse topological order, so an edge between two components leads
// from the higher number to the lower. Edges e with dead[e] != 0 are ignored; `dead` may be empty.
// Linear time.
[[nodiscard]] StrongComponents strong_components(const AdjacencyView& graph,
                                                 std::span<const char> dead = {});

}  // namespace cyclewatch::graph
