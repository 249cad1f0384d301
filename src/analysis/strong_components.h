// SPDX-License-Identifier: Apache-2.0
// Strongly connected components: R. Tarjan, "Depth-First Search and Linear Graph Algorithms",
// SIAM J. Comput. 1 (1972), with an explicit stack.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/adjacency.h"

namespace cyclewatch::analysis {

struct StrongComponents {
    std::vector<std::uint32_t> of;    // per node: its component
    std::vector<std::uint32_t> size;  // per component
    std::vector<bool> cyclic;         // per component: holds a cycle, a self-reference included

    [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(size.size()); }
};

// Components are numbered against the edges: an edge between two components leads from the
// higher number to the lower. `dead[e]` != 0 leaves edge e out; an empty span leaves none out.
// Linear time; stack depth does not depend on the graph.
[[nodiscard]] StrongComponents strong_components(const AdjacencyView& graph,
                                                 std::span<const char> dead = {});

}  // namespace cyclewatch::analysis
