// SPDX-License-Identifier: Apache-2.0
#include "graph/dominators.h"

namespace cyclewatch::graph {
namespace {

constexpr int kMostPasses = 8;

TreeIx ancestor_at(const DominatorTree& tree, TreeIx node, std::uint32_t depth) {
    while (tree.depth[node] > depth) {
        const TreeIx jump = tree.jump[node];
        node = tree.depth[jump] >= depth ? jump : tree.parent[node];
    }
    return node;
}

void add_node(DominatorTree& tree, TreeIx node, TreeIx parent) {
    tree.parent[node] = parent;
    tree.depth[node] = tree.depth[parent] + 1;
    const TreeIx jump = tree.jump[parent];
    const bool equal_spans =
        tree.depth[parent] - tree.depth[jump] == tree.depth[jump] - tree.depth[tree.jump[jump]];
    tree.jump[node] = equal_spans ? tree.jump[jump] : parent;
}

}  // namespace

TreeIx common_ancestor(const DominatorTree& tree, TreeIx a, TreeIx b) {
    if (tree.depth[a] < tree.depth[b]) {
        b = ancestor_at(tree, b, tree.depth[a]);
    } else {
        a = ancestor_at(tree, a, tree.depth[b]);
    }
    // Nodes of equal depth have jump pointers of equal length.
    while (a != b) {
        const bool far = tree.jump[a] != tree.jump[b];
        a = far ? tree.jump[a] : tree.parent[a];
        b = far ? tree.jump[b] : tree.parent[b];
    }
    return a;
}

namespace {

// Builds the tree by adding the nodes in ascending order. For back edges, uses `before`, the tree
// of the previous pass. If `before` is nullptr, ignores back edges.
DominatorTree one_pass(const Rows<TreeIx, TreeIx>& predecessors, const DominatorTree* before) {
    const std::size_t nodes = predecessors.size();
    DominatorTree tree;
    tree.parent.assign(nodes, kRoot);
    tree.depth.assign(nodes, 0);
    tree.jump.assign(nodes, kRoot);
    for (const TreeIx node : tree.below_root()) {
        TreeIx dominator = kNone;
        for (const TreeIx other : predecessors.of(node)) {
            if (other < node) {
                dominator = dominator == kNone ? other : common_ancestor(tree, dominator, other);
            }
        }
        dominator = dominator == kNone ? kRoot : dominator;
        for (const TreeIx other : predecessors.of(node)) {
            if (other > node && before != nullptr) {
                dominator = common_ancestor(*before, dominator, other);
            }
        }
        add_node(tree, node, dominator);
    }
    return tree;
}

// True if a further pass would build the same tree, that is, if the parent of each node also
// dominates the predecessors that the first pass ignores.
bool is_final(const Rows<TreeIx, TreeIx>& predecessors, const DominatorTree& tree) {
    for (const TreeIx node : tree.below_root()) {
        for (const TreeIx other : predecessors.of(node)) {
            if (other > node && !dominates(tree, tree.parent[node], other)) {
                return false;
            }
        }
    }
    return true;
}

}  // namespace

DominatorTree dominators(const Rows<TreeIx, TreeIx>& predecessors) {
    DominatorTree tree = one_pass(predecessors, nullptr);
    for (int pass = 0; pass < kMostPasses; ++pass) {
        if (is_final(predecessors, tree)) {
            return tree;
        }
        tree = one_pass(predecessors, &tree);
    }
    return {};
}

}  // namespace cyclewatch::graph
