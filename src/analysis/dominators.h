// SPDX-License-Identifier: Apache-2.0
// Dominators of an acyclic graph. The condensation of a reference graph is acyclic, so the
// immediate dominator of a node is the lowest common ancestor of its predecessors in the tree
// built so far; jump pointers (E. Myers, "An applicative random-access stack", 1983) find it in
// logarithmic time, so that no shape of graph is quadratic.
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

// `predecessors.of(n)` lists the nodes that refer to n, all of them smaller than n. Node 0 is
// the root: it has no predecessors, and every other node has at least one.
[[nodiscard]] DominatorTree dominators(const AdjacencyView& predecessors);

// Lowest common ancestor of `a` and `b`, both already in the tree.
[[nodiscard]] std::uint32_t common_ancestor(const DominatorTree& tree,
                                            std::uint32_t a,
                                            std::uint32_t b);

}  // namespace cyclewatch::analysis
