// SPDX-License-Identifier: Apache-2.0
#include "graph/strong_components.h"

#include <gtest/gtest.h>

#include "support/random_graph.h"

namespace cyclewatch::graph {
namespace {

using test_support::RandomGraph;

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
