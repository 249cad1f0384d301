// SPDX-License-Identifier: Apache-2.0
// Builds the dominator tree of an acyclic graph or, by iteration, of any graph (Cooper, Harvey,
// Kennedy, "A Simple, Fast Dominance Algorithm", 2001). The immediate dominator of a node is the
// lowest common ancestor of its predecessors. Jump pointers (Myers, "An applicative random-access
// stack", 1983) find this ancestor in logarithmic time, which avoids quadratic worst cases.
#pragma once

#include "graph/graph.h"

namespace cyclewatch::graph {

// A node of a dominator tree. Callers number the nodes of their graph as dominators() requires.
enum class TreeIx : std::uint32_t {};

inline constexpr TreeIx kRoot{0};

struct DominatorTree {
    IndexedVector<TreeIx, TreeIx> parent;  // immediate dominator; the root is its own parent
    IndexedVector<TreeIx, std::uint32_t> depth;
    IndexedVector<TreeIx, TreeIx> jump;

    [[nodiscard]] IndexRange<TreeIx> below_root() const { return {TreeIx{1}, parent.end_index()}; }
};

// `predecessors.of(n)` lists the nodes that refer to n. A node whose predecessors all have larger
// numbers becomes a child of the root. A graph with cycles must be numbered in reverse postorder;
// the tree is empty if the iteration does not converge within a few passes.
[[nodiscard]] DominatorTree dominators(const Rows<TreeIx, TreeIx>& predecessors);

// Lowest common ancestor of two nodes of the tree.
[[nodiscard]] TreeIx common_ancestor(const DominatorTree& tree, TreeIx a, TreeIx b);

// True if every path from the root to `b` passes through `a`.
[[nodiscard]] inline bool dominates(const DominatorTree& tree, TreeIx a, TreeIx b) {
    return common_ancestor(tree, a, b) == a;
}

}  // namespace cyclewatch::graph
