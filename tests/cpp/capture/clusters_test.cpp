// SPDX-License-Identifier: Apache-2.0
#include "capture/clusters.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <utility>
#include <vector>

namespace cyclewatch::capture {
namespace {

using Edges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

Adjacency graph_of(std::uint32_t nodes, const Edges& edges) {
    Adjacency graph;
    for (std::uint32_t node = 0; node < nodes; ++node) {
        for (const auto& [from, to] : edges) {
            if (from == node) {
                graph.targets.push_back(to);
            }
        }
        graph.first.push_back(static_cast<std::uint32_t>(graph.targets.size()));
    }
    return graph;
}

Clusters clusters_of(const Adjacency& references,
                     const std::vector<std::uint32_t>& owners,
                     const std::vector<std::uint32_t>& kinds) {
    return find_clusters({references, kinds}, reversed(references), owners);
}

TEST(Reversed, TransposesEveryReference) {
    const Adjacency reverse = reversed(graph_of(3, {{0, 2}, {1, 2}, {2, 0}}));
    EXPECT_EQ(std::vector(reverse.of(0).begin(), reverse.of(0).end()),
              (std::vector<std::uint32_t>{2}));
    EXPECT_TRUE(reverse.of(1).empty());
    EXPECT_EQ(std::vector(reverse.of(2).begin(), reverse.of(2).end()),
              (std::vector<std::uint32_t>{0, 1}));
}

TEST(Clusters, ContainOnlyObjectsThatReachAnOwner) {
    // 0 <-> 1 -> 2 (owner), 1 -> 3 (no further references)
    const Adjacency graph = graph_of(4, {{0, 1}, {1, 0}, {1, 2}, {1, 3}});
    const Clusters clusters = clusters_of(graph, {2}, {1, 1, 2, 3});
    EXPECT_EQ(clusters.of, (std::vector<std::uint32_t>{0, 0, 0, kNoCluster}));
    EXPECT_EQ(clusters.size, (std::vector<std::uint64_t>{3}));
}

TEST(Clusters, TwoOwnersOfOneCycleShareACluster) {
    const Adjacency graph = graph_of(4, {{0, 1}, {1, 0}, {0, 2}, {1, 3}});
    const Clusters clusters = clusters_of(graph, {2, 3}, {1, 1, 2, 2});
    EXPECT_EQ(clusters.size, (std::vector<std::uint64_t>{4}));
}

TEST(Clusters, DisjointCyclesHaveTheSameShapeInAnyOrder) {
    const Adjacency graph = graph_of(6, {{0, 1}, {1, 0}, {0, 2}, {4, 3}, {3, 4}, {4, 5}});
    const Clusters clusters = clusters_of(graph, {2, 5}, {7, 8, 9, 8, 7, 9});
    ASSERT_EQ(clusters.size, (std::vector<std::uint64_t>{3, 3}));
    EXPECT_EQ(clusters.shape[0], clusters.shape[1]);
}

TEST(Clusters, ShapeDependsOnKindsAndReferences) {
    const Adjacency graph = graph_of(6, {{0, 1}, {1, 0}, {0, 2}, {3, 4}, {4, 3}, {4, 5}});
    // The object of kind 8 refers to the second owner, instead of the object of kind 7.
    const Clusters clusters = clusters_of(graph, {2, 5}, {7, 8, 9, 7, 8, 9});
    EXPECT_NE(clusters.shape[0], clusters.shape[1]);
}

Clusters of_sizes_and_shapes(std::initializer_list<std::pair<std::uint64_t, std::uint64_t>> all) {
    Clusters clusters;
    for (const auto& [size, shape] : all) {
        clusters.size.push_back(size);
        clusters.shape.push_back(shape);
    }
    return clusters;
}

TEST(ChooseClusters, NamesAllClustersWithinTheLimit) {
    const auto choices = choose_clusters(of_sizes_and_shapes({{10, 1}, {10, 1}, {10, 2}}), 30, 30);
    for (const ClusterChoice& choice : choices) {
        EXPECT_EQ(choice.fate, ClusterChoice::Fate::named);
    }
}

TEST(ChooseClusters, CountsRepeatedShapesAndOmitsNewShapesOverTheLimit) {
    const auto choices = choose_clusters(of_sizes_and_shapes({{10, 1}, {10, 1}, {10, 2}}), 10, 10);
    EXPECT_EQ(choices[0].fate, ClusterChoice::Fate::named);
    EXPECT_EQ(choices[1].fate, ClusterChoice::Fate::repeated);
    EXPECT_EQ(choices[1].equivalent, 0U);
    EXPECT_EQ(choices[2].fate, ClusterChoice::Fate::omitted);
}

TEST(ChooseClusters, LimitsRepeatedShapesBeforeNewShapes) {
    const auto choices =
        choose_clusters(of_sizes_and_shapes({{10, 1}, {10, 1}, {10, 1}, {10, 2}}), 40, 20);
    EXPECT_EQ(choices[1].fate, ClusterChoice::Fate::named);
    EXPECT_EQ(choices[2].fate, ClusterChoice::Fate::repeated);
    EXPECT_EQ(choices[3].fate, ClusterChoice::Fate::named);
}

TEST(ChooseClusters, AlwaysNamesTheFirstCluster) {
    const auto choices = choose_clusters(of_sizes_and_shapes({{1000, 1}}), 10, 10);
    EXPECT_EQ(choices[0].fate, ClusterChoice::Fate::named);
}

}  // namespace
}  // namespace cyclewatch::capture
