// SPDX-License-Identifier: Apache-2.0
#include "analysis/dominators.h"

namespace cyclewatch::analysis {
namespace {

std::uint32_t ancestor_at(const DominatorTree& tree, std::uint32_t node, std::uint32_t depth) {
    while (tree.depth[node] > depth) {
        const std::uint32_t jump = tree.jump[node];
        node = tree.depth[jump] >= depth ? jump : tree.parent[node];
    }
    return node;
}

void hang(DominatorTree& tree, std::uint32_t node, std::uint32_t parent) {
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
    // Nodes of equal depth have jumps of equal length, so both can jump at once.
    while (a != b) {
        const bool far = tree.jump[a] != tree.jump[b];
        a = far ? tree.jump[a] : tree.parent[a];
        b = far ? tree.jump[b] : tree.parent[b];
    }
    return a;
}

DominatorTree dominators(const AdjacencyView& predecessors) {
    const std::uint32_t nodes = predecessors.nodes();
    DominatorTree tree;
    tree.parent.assign(nodes, 0);
    tree.depth.assign(nodes, 0);
    tree.jump.assign(nodes, 0);
    for (std::uint32_t node = 1; node < nodes; ++node) {
        const auto from = predecessors.of(node);
        std::uint32_t dominator = from.empty() ? 0 : from.front();
        for (const std::uint32_t other : from) {
            dominator = common_ancestor(tree, dominator, other);
        }
        hang(tree, node, dominator);
    }
    return tree;
}

}  // namespace cyclewatch::analysis
