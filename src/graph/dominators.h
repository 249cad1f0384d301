// SPDX-License-Identifier: Apache-2.0
// Builds the dominator tree of an acyclic graph or, by iteration, of any graph (Cooper, Harvey,
// Kennedy, "A Simple, Fast Dominance Algorithm", 2001). The immediate dominator of a node is the
// lowest common ancestor of its predecessors. Jump pointers (Myers, "An applicative random-access
// stack", 1983) find this ancestor in logarithmic time, which avoids quadratic worst cases.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/adjacency.h"

namespace cyclewatch::graph {

struct DominatorTree {
    std::vector<std::uint32_t> parent;  // immediate dominator; the root is its own parent
    std::vector<std::uint32_t> depth;
    std::vector<std::uint32_t> jump;
};

// `predecessors.of(n)` lists the nodes that refer to n. Node 0 is the root. A node whose
// predecessors all have larger numbers becomes a child of the root. A graph with cycles must be
// numbered in reverse postorder; the tree is empty if the iteration does not converge within a few
// passes.
[[nodiscard]] DominatorTree dominators(const AdjacencyView& predecessors);

// Lowest common ancestor of two nodes of the tree.
[[nodiscard]] std::uint32_t common_ancestor(const DominatorTree& tree,
                                            std::uint32_t a,
                                            std::uint32_t b);

// True if every path from the root to `b` passes through `a`.
[[nodiscard]] inline bool dominates(const DominatorTree& tree, std::uint32_t a, std::uint32_t b) {
    return common_ancestor(tree, a, b) == a;
}

}  // namespace cyclewatch::graph
