// SPDX-License-Identifier: Apache-2.0
#include "graph/dominators.h"

#include <gtest/gtest.h>

#include "support/random_graph.h"

namespace cyclewatch::graph {
namespace {

using test_support::RandomGraph;

// True if a path from the root to `node` avoids `without`. Nodes without predecessors are children
// of the root.
bool leads_to_root(const RandomGraph& predecessors, std::uint32_t node, std::uint32_t without) {
    std::vector<bool> above = test_support::reachable(predecessors, node, without);
    above[node] = true;
    for (std::uint32_t n = 0; n < predecessors.nodes(); ++n) {
        if (above[n] && predecessors.view().of(n).empty()) {
            return true;
        }
    }
    return false;
}

TEST(Dominators, AreTheNodesOnEveryPath) {
    std::mt19937 random(11);
    const auto backward = [](std::uint32_t from, std::uint32_t to) { return to < from; };
    for (int round = 0; round < 200; ++round) {
        const RandomGraph predecessors = test_support::random_graph(random, 11, 0.25, backward);
        const DominatorTree tree = dominators(predecessors.view());
        for (std::uint32_t upper = 1; upper < predecessors.nodes(); ++upper) {
            for (std::uint32_t lower = upper + 1; lower < predecessors.nodes(); ++lower) {
                EXPECT_EQ(dominates(tree, upper, lower), !leads_to_root(predecessors, lower, upper))
                    << upper << " over " << lower;
            }
        }
    }
}

TEST(Dominators, TakeNoQuadraticTime) {
    // The first and the last link of a chain refer to every leaf: walking up the tree link by link
    // would take quadratic time.
    constexpr std::uint32_t kChain = 300'000;
    RandomGraph predecessors;
    predecessors.first.push_back(0);  // the root has none
    for (std::uint32_t node = 1; node <= kChain; ++node) {
        predecessors.targets.push_back(node - 1);
        predecessors.first.push_back(static_cast<std::uint32_t>(predecessors.targets.size()));
    }
    for (std::uint32_t leaf = 0; leaf < kChain; ++leaf) {
        predecessors.targets.push_back(1);
        predecessors.targets.push_back(kChain);
        predecessors.first.push_back(static_cast<std::uint32_t>(predecessors.targets.size()));
    }
    const DominatorTree tree = dominators(predecessors.view());
    EXPECT_EQ(tree.parent[2 * kChain], 1U);
    EXPECT_EQ(common_ancestor(tree, kChain, kChain / 3), kChain / 3);
}

}  // namespace
}  // namespace cyclewatch::graph
