// SPDX-License-Identifier: Apache-2.0
#include "graph/dominators.h"
#include "graph/strong_components.h"
#include "support/random_graph.h"

#include <gtest/gtest.h>

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

TEST(StrongComponents, AgreeWithReachabilityOnRandomGraphs) {
    std::mt19937 random(7);
    for (int round = 0; round < 200; ++round) {
        const auto any = [](std::uint32_t, std::uint32_t) { return true; };
        const RandomGraph graph = test_support::random_graph(random, 12, 0.12, any);
        const StrongComponents found = strong_components(graph.view());
        for (std::uint32_t a = 0; a < graph.nodes(); ++a) {
            const std::vector<bool> from_a = test_support::reachable(graph, a);
            EXPECT_EQ(found.cyclic[found.of[a]], from_a[a]);
            for (std::uint32_t b = 0; b < graph.nodes(); ++b) {
                const bool together = from_a[b] && test_support::reachable(graph, b)[a];
                if (a != b) {
                    EXPECT_EQ(found.of[a] == found.of[b], together) << a << " and " << b;
                }
                if (from_a[b] && !together && a != b) {
                    EXPECT_GT(found.of[a], found.of[b]) << "reverse topological order";
                }
            }
        }
    }
}

TEST(StrongComponents, IgnoreDeadReferences) {
    // 0 -> 1 -> 0, and 1 -> 1
    const std::vector<std::uint32_t> first{0, 1, 3};
    const std::vector<std::uint32_t> targets{1, 0, 1};
    const std::vector<char> no_way_back{0, 1, 0};
    const StrongComponents found = strong_components({first, targets}, no_way_back);
    EXPECT_EQ(found.count(), 2U);
    EXPECT_FALSE(found.cyclic[found.of[0]]);
    EXPECT_TRUE(found.cyclic[found.of[1]]);
}

TEST(StrongComponents, DoNotOverflowTheStack) {
    constexpr std::uint32_t kSize = 1'000'000;
    RandomGraph ring;
    for (std::uint32_t node = 0; node < kSize; ++node) {
        ring.targets.push_back(node + 1 == kSize ? 0 : node + 1);
        ring.first.push_back(node + 1);
    }
    const StrongComponents found = strong_components(ring.view());
    ASSERT_EQ(found.count(), 1U);
    EXPECT_EQ(found.size[0], kSize);
}

}  // namespace
}  // namespace cyclewatch::graph
