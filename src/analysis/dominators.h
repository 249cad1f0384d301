// SPDX-License-Identifier: Apache-2.0
// Dominators. The immediate dominator of a node is the lowest common ancestor of its predecessors
// in the tree built so far; jump pointers (E. Myers, "An applicative random-access stack", 1983)
// find it in logarithmic time, so that no shape of graph is quadratic. A graph with cycles takes
// several passes in reverse postorder (K. Cooper, T. Harvey and K. Kennedy, "A Simple, Fast
// Dominance Algorithm", 2001).
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/adjacency.h"

namespace cyclewatch::analysis {

struct DominatorTree {
    std::vector<std::uint32_t> parent;  // immediate dominator; of the root: itself
    std::vector<std::uint32_t> depth;
    std::vector<std::uint32_t> jump;
};

// `predecessors.of(n)` lists the nodes that refer to n. Node 0 is the root; every other node has a
// smaller predecessor. If the graph is not acyclic, nodes must be numbered in reverse postorder,
// and the tree is empty if more than a few passes would be needed.
[[nodiscard]] DominatorTree dominators(const AdjacencyView& predecessors);

// Lowest common ancestor of `a` and `b`, both already in the tree.
[[nodiscard]] std::uint32_t common_ancestor(const DominatorTree& tree,
                                            std::uint32_t a,
                                            std::uint32_t b);

// True if every path from the root to `b` passes `a`.
[[nodiscard]] inline bool dominates(const DominatorTree& tree, std::uint32_t a, std::uint32_t b) {
    return common_ancestor(tree, a, b) == a;
}

}  // namespace cyclewatch::analysis
