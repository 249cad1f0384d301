// SPDX-License-Identifier: Apache-2.0
#include "graph/dominators.h"

namespace cyclewatch::graph {
namespace {

constexpr int kMostPasses = 8;
constexpr std::uint32_t kUnknown = UINT32_MAX;

std::uint32_t ancestor_at(const DominatorTree& tree, std::uint32_t node, std::uint32_t depth) {
    while (tree.depth[node] > depth) {
        const std::uint32_t jump = tree.jump[node];
        node = tree.depth[jump] >= depth ? jump : tree.parent[node];
    }
    return node;
}

void add_node(DominatorTree& tree, std::uint32_t node, std::uint32_t parent) {
    tree.parent[node] = parent;
    tree.depth[node] = tree.depth[parent] + 1;
    const std::uint32_t jump = tree.jump[parent];
    const bool equal_spans =
        tree.depth[parent] - tree.depth[jump] == tree.depth[jump] - tree.depth[tree.jump[jump]];
    tree.jump[node] = equal_spans ? tree.jump[jump] : parent;
}

}  // namespace

std::uint32_t common_ancestor(const DominatorTree& tree, std::uint32_t a, std::uint32_t b) {
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
DominatorTree one_pass(const AdjacencyView& predecessors, const DominatorTree* before) {
    const std::uint32_t nodes = predecessors.nodes();
    DominatorTree tree;
    tree.parent.assign(nodes, 0);
    tree.depth.assign(nodes, 0);
    tree.jump.assign(nodes, 0);
    for (std::uint32_t node = 1; node < nodes; ++node) {
        std::uint32_t dominator = kUnknown;
        for (const std::uint32_t other : predecessors.of(node)) {
            if (other < node) {
                dominator = dominator == kUnknown ? other : common_ancestor(tree, dominator, other);
            }
        }
        dominator = dominator == kUnknown ? 0 : dominator;
        for (const std::uint32_t other : predecessors.of(node)) {
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
bool is_final(const AdjacencyView& predecessors, const DominatorTree& tree) {
    for (std::uint32_t node = 1; node < predecessors.nodes(); ++node) {
        for (const std::uint32_t other : predecessors.of(node)) {
            if (other > node && !dominates(tree, tree.parent[node], other)) {
                return false;
            }
        }
    }
    return true;
}

}  // namespace

DominatorTree dominators(const AdjacencyView& predecessors) {
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
