// SPDX-License-Identifier: Apache-2.0
#include "analysis/dominators.h"

#include <gtest/gtest.h>

#include "support/random_graph.h"

namespace cyclewatch::analysis {
namespace {

using test_support::RandomGraph;

// A random acyclic graph in which the root leads everywhere.
RandomGraph rooted_graph(std::mt19937& random, std::uint32_t nodes) {
    const auto forward = [](std::uint32_t from, std::uint32_t to) { return from < to; };
    RandomGraph graph = test_support::random_graph(random, nodes, 0.25, forward);
    std::vector<bool> held(nodes, false);
    for (const std::uint32_t target : graph.targets) {
        held[target] = true;
    }
    RandomGraph rooted;
    for (std::uint32_t node = 0; node < nodes; ++node) {
        for (const std::uint32_t target : graph.view().of(node)) {
            rooted.targets.push_back(target);
        }
        for (std::uint32_t target = 1; node == 0 && target < nodes; ++target) {
            if (!held[target]) {
                rooted.targets.push_back(target);
            }
        }
        rooted.first.push_back(static_cast<std::uint32_t>(rooted.targets.size()));
    }
    return rooted;
}

RandomGraph reversed(const RandomGraph& graph) {
    RandomGraph result;
    for (std::uint32_t node = 0; node < graph.nodes(); ++node) {
        for (std::uint32_t from = 0; from < graph.nodes(); ++from) {
            for (const std::uint32_t target : graph.view().of(from)) {
                if (target == node) {
                    result.targets.push_back(from);
                }
            }
        }
        result.first.push_back(static_cast<std::uint32_t>(result.targets.size()));
    }
    return result;
}

bool is_above(const DominatorTree& tree, std::uint32_t upper, std::uint32_t lower) {
    while (lower != 0 && lower != upper) {
        lower = tree.parent[lower];
    }
    return lower == upper;
}

TEST(Dominators, AreTheNodesThatNoWayAvoids) {
    std::mt19937 random(11);
    for (int round = 0; round < 200; ++round) {
        const RandomGraph graph = rooted_graph(random, 11);
        const DominatorTree tree = dominators(reversed(graph).view());
        for (std::uint32_t upper = 1; upper < graph.nodes(); ++upper) {
            const std::vector<bool> otherwise = test_support::reachable(graph, 0, upper);
            for (std::uint32_t lower = 1; lower < graph.nodes(); ++lower) {
                if (lower != upper) {
                    EXPECT_EQ(is_above(tree, upper, lower), !otherwise[lower])
                        << upper << " over " << lower;
                }
            }
        }
    }
}

TEST(Dominators, OfManyNodesUnderBothEndsOfAChain) {
    // Every leaf is held by the first and the last link: a walk up the tree for each would be
    // quadratic and this test would not end.
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
}  // namespace cyclewatch::analysis
