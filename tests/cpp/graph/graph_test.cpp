// SPDX-License-Identifier: Apache-2.0
#include "graph/dominators.h"
#include "graph/strong_components.h"
#include "support/random_graph.h"

#include <gtest/gtest.h>

namespace cyclewatch::graph {
namespace {

using test_support::Arc;
using test_support::RandomGraph;
using test_support::Vertex;

// True if a path from the root to `node` avoids `without`. Nodes without predecessors are children
// of the root.
bool leads_to_root(const RandomGraph& predecessors, Vertex node, Vertex without) {
    base::IndexSet<Vertex> above = test_support::reachable(predecessors, node, without);
    above.insert(node);
    return std::ranges::any_of(predecessors.all_nodes(), [&](Vertex n) {
        return above.contains(n) && predecessors.targets_of(n).empty();
    });
}

DominatorTree dominators_of(const RandomGraph& predecessors) {
    return dominators(Rows<Vertex, Vertex>(predecessors.size(), [&](auto visit) {
        for (const Vertex node : predecessors.all_nodes()) {
            for (const Vertex other : predecessors.targets_of(node)) {
                visit(node, other);
            }
        }
    }));
}

TEST(Dominators, AreTheNodesOnEveryPath) {
    std::mt19937 random(11);
    const auto backward = [](Vertex from, Vertex to) { return to < from; };
    for (int round = 0; round < 200; ++round) {
        const RandomGraph predecessors = test_support::random_graph(random, 11, 0.25, backward);
        const DominatorTree tree = dominators_of(predecessors);
        for (const Vertex upper : tree.below_root()) {
            for (Vertex lower = next_index(upper); lower < tree.parent.end_index();
                 lower = next_index(lower)) {
                EXPECT_EQ(dominates(tree, upper, lower), !leads_to_root(predecessors, lower, upper))
                    << index_of(upper) << " over " << index_of(lower);
            }
        }
    }
}

TEST(Dominators, TakeNoQuadraticTime) {
    // The first and the last link of a chain refer to every leaf: walking up the tree link by link
    // would take quadratic time.
    constexpr std::uint32_t kChain = 300'000;
    RandomGraph predecessors;
    predecessors.end_node();  // the root has none
    for (std::uint32_t node = 1; node <= kChain; ++node) {
        predecessors.targets.push_back(Vertex{node - 1});
        predecessors.end_node();
    }
    for (std::uint32_t leaf = 0; leaf < kChain; ++leaf) {
        predecessors.targets.push_back(Vertex{1});
        predecessors.targets.push_back(Vertex{kChain});
        predecessors.end_node();
    }
    const DominatorTree tree = dominators_of(predecessors);
    EXPECT_EQ(tree.parent[Vertex{2 * kChain}], Vertex{1});
    EXPECT_EQ(common_ancestor(tree, Vertex{kChain}, Vertex{kChain / 3}), Vertex{kChain / 3});
}

TEST(StrongComponents, AgreeWithReachabilityOnRandomGraphs) {
    std::mt19937 random(7);
    for (int round = 0; round < 200; ++round) {
        const auto any = [](Vertex, Vertex) { return true; };
        const RandomGraph graph = test_support::random_graph(random, 12, 0.12, any);
        const auto found = strong_components(graph);
        for (const Vertex a : graph.all_nodes()) {
            const base::IndexSet<Vertex> from_a = test_support::reachable(graph, a);
            EXPECT_EQ(found.cyclic[found.of[a]], from_a.contains(a));
            for (const Vertex b : graph.all_nodes()) {
                const bool together =
                    from_a.contains(b) && test_support::reachable(graph, b).contains(a);
                if (a != b) {
                    EXPECT_EQ(found.of[a] == found.of[b], together)
                        << index_of(a) << " and " << index_of(b);
                }
                if (from_a.contains(b) && !together && a != b) {
                    EXPECT_GT(found.of[a], found.of[b]) << "reverse topological order";
                }
            }
        }
    }
}

TEST(StrongComponents, IgnoreDeadReferences) {
    RandomGraph graph;  // 0 -> 1 -> 0, and 1 -> 1
    graph.targets = {Vertex{1}, Vertex{0}, Vertex{1}};
    graph.first = {Arc{0}, Arc{1}, Arc{3}};
    base::IndexSet<Arc> no_way_back;
    no_way_back.insert(Arc{1});
    const auto found = strong_components(graph, no_way_back);
    EXPECT_EQ(found.count(), 2U);
    EXPECT_FALSE(found.cyclic[found.of[Vertex{0}]]);
    EXPECT_TRUE(found.cyclic[found.of[Vertex{1}]]);
}

TEST(StrongComponents, DoNotOverflowTheStack) {
    constexpr std::uint32_t kSize = 1'000'000;
    RandomGraph ring;
    for (std::uint32_t node = 0; node < kSize; ++node) {
        ring.targets.push_back(Vertex{node + 1 == kSize ? 0 : node + 1});
        ring.end_node();
    }
    const auto found = strong_components(ring);
    ASSERT_EQ(found.count(), 1U);
    EXPECT_EQ(found.size[ComponentIx{0}], kSize);
}

}  // namespace
}  // namespace cyclewatch::graph
