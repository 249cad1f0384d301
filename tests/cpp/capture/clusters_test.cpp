// SPDX-License-Identifier: Apache-2.0
#include "capture/clusters.h"
#include "capture/subgraph_selection.h"

#include <gtest/gtest.h>
#include <algorithm>
#include <initializer_list>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace cyclewatch::capture {
namespace {

using Edges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
using Nodes = std::vector<std::uint32_t>;

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

Clusters clusters_of(const Adjacency& references, const std::vector<std::uint32_t>& owners) {
    return find_clusters(references, reversed(references), owners);
}

TEST(Clusters, DisjointCyclesHaveTheSameShapeInAnyOrder) {
    const Adjacency graph = graph_of(6, {{0, 1}, {1, 0}, {0, 2}, {4, 3}, {3, 4}, {4, 5}});
    const Clusters clusters = clusters_of(graph, {2, 5});
    const auto shapes = shapes_of(clusters, graph, Nodes{7, 8, 9, 8, 7, 9});
    ASSERT_EQ(clusters.size, (std::vector<std::uint64_t>{3, 3}));
    EXPECT_EQ(shapes[0], shapes[1]);
}

TEST(Clusters, ShapeDependsOnKindsAndReferences) {
    const Adjacency graph = graph_of(6, {{0, 1}, {1, 0}, {0, 2}, {3, 4}, {4, 3}, {4, 5}});
    // The object of kind 8 refers to the second owner, instead of the object of kind 7.
    const Clusters clusters = clusters_of(graph, {2, 5});
    const auto shapes = shapes_of(clusters, graph, Nodes{7, 8, 9, 7, 8, 9});
    EXPECT_NE(shapes[0], shapes[1]);
}

std::vector<ClusterChoice> choose(
    std::initializer_list<std::pair<std::uint64_t, std::uint64_t>> sizes_and_shapes,
    std::uint64_t max_objects,
    std::uint64_t max_repeated) {
    std::vector<std::uint64_t> sizes;
    std::vector<std::uint64_t> shapes;
    for (const auto& [size, shape] : sizes_and_shapes) {
        sizes.push_back(size);
        shapes.push_back(shape);
    }
    return choose_clusters(sizes, shapes, max_objects, max_repeated);
}

TEST(ChooseClusters, NamesAllClustersWithinTheLimit) {
    const auto choices = choose({{10, 1}, {10, 1}, {10, 2}}, 30, 30);
    for (const ClusterChoice& choice : choices) {
        EXPECT_EQ(choice.fate, ClusterChoice::Fate::named);
    }
}

TEST(ChooseClusters, CountsRepeatedShapesAndOmitsNewShapesOverTheLimit) {
    const auto choices = choose({{10, 1}, {10, 1}, {10, 2}}, 10, 10);
    EXPECT_EQ(choices[0].fate, ClusterChoice::Fate::named);
    EXPECT_EQ(choices[1].fate, ClusterChoice::Fate::repeated);
    EXPECT_EQ(choices[1].equivalent, 0U);
    EXPECT_EQ(choices[2].fate, ClusterChoice::Fate::omitted);
}

TEST(ChooseClusters, LimitsRepeatedShapesBeforeNewShapes) {
    const auto choices = choose({{10, 1}, {10, 1}, {10, 1}, {10, 2}}, 40, 20);
    EXPECT_EQ(choices[1].fate, ClusterChoice::Fate::named);
    EXPECT_EQ(choices[2].fate, ClusterChoice::Fate::repeated);
    EXPECT_EQ(choices[3].fate, ClusterChoice::Fate::named);
}

TEST(ChooseClusters, AlwaysNamesTheFirstCluster) {
    const auto choices = choose({{1000, 1}}, 10, 10);
    EXPECT_EQ(choices[0].fate, ClusterChoice::Fate::named);
}

// A cluster and the kinds of its objects.
struct Garbage {
    std::vector<Nodes> references;  // per object
    Nodes kinds;
    Nodes owners;
};

// Random references, which form a few large cycles.
Garbage random_garbage(std::uint32_t seed) {
    std::mt19937 random(seed);
    Garbage garbage;
    for (std::uint32_t node = 0; node < 600; ++node) {
        garbage.references.push_back({});
        for (int i = 0; i < 3; ++i) {
            garbage.references.back().push_back(random() % 600);
        }
        garbage.kinds.push_back(random() % 20);
    }
    for (int i = 0; i < 5; ++i) {
        garbage.owners.push_back(random() % 600);
    }
    return garbage;
}

// A cycle with one owner, and a list whose items all refer to the owner, at the same distance.
Garbage crowded_garbage() {
    Garbage garbage{{{1, 2}, {0}, {}}, {1, 2, 3}, {2}};
    for (std::uint32_t node = 3; node < 100; ++node) {
        garbage.references.push_back({2});
        garbage.kinds.push_back(10 + node);
        garbage.references[1].push_back(node);
    }
    return garbage;
}

// The selected objects of `garbage`, in ascending order. If `shuffle` is not 0, the objects and
// references are passed in a random order.
Nodes selected_from(const Garbage& garbage, std::uint64_t limit, std::uint32_t shuffle = 0) {
    const std::size_t size = garbage.references.size();
    std::mt19937 random(shuffle);
    Nodes listed(size);  // position -> object
    std::iota(listed.begin(), listed.end(), 0U);
    Nodes owners = garbage.owners;
    if (shuffle != 0) {
        std::shuffle(listed.begin(), listed.end(), random);
        std::shuffle(owners.begin(), owners.end(), random);
    }
    Nodes position(size);
    for (std::uint32_t p = 0; p < size; ++p) {
        position[listed[p]] = p;
    }
    Adjacency graph;
    Nodes kinds;
    for (const std::uint32_t object : listed) {
        Nodes references = garbage.references[object];
        if (shuffle != 0) {
            std::shuffle(references.begin(), references.end(), random);
        }
        for (const std::uint32_t target : references) {
            graph.targets.push_back(position[target]);
        }
        graph.first.push_back(static_cast<std::uint32_t>(graph.targets.size()));
        kinds.push_back(garbage.kinds[object]);
    }
    for (std::uint32_t& owner : owners) {
        owner = position[owner];
    }
    const Adjacency reverse = reversed(graph);
    const Clusters clusters = find_clusters(graph, reverse, owners);
    std::vector<bool> inside;
    for (const std::uint32_t cluster : clusters.of) {
        inside.push_back(cluster == clusters.of[owners[0]]);
    }
    Nodes selected = select_subgraph(
        {graph, reverse, inside}, owners, [&](std::uint32_t node) { return kinds[node]; }, limit);
    for (std::uint32_t& node : selected) {
        node = listed[node];
    }
    std::ranges::sort(selected);
    return selected;
}

TEST(SubgraphSelection, KeepsTheCycleAndAddsTheNearestObjects) {
    // The cycle is 0 -> 1 -> 2 -> 0. Object 3 refers to the owner 4. The distance of 5, 6 and 7
    // increases.
    const Garbage garbage{
        {{1}, {2}, {0, 3}, {4}, {}, {1}, {5}, {6}}, {1, 2, 3, 4, 5, 6, 7, 8}, {4}};
    EXPECT_EQ(selected_from(garbage, 1), (Nodes{0, 1, 2, 3, 4}));
    EXPECT_EQ(selected_from(garbage, 6), (Nodes{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(selected_from(garbage, 7), (Nodes{0, 1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(selected_from(garbage, 8).size(), 8U);
}

TEST(SubgraphSelection, DoesNotDependOnTheOrderOfObjects) {
    std::vector<std::pair<Garbage, std::uint64_t>> cases{{crowded_garbage(), 20}};
    for (std::uint32_t seed = 1; seed < 8; ++seed) {
        cases.emplace_back(random_garbage(seed), 60);
    }
    for (const auto& [garbage, limit] : cases) {
        const Nodes expected = selected_from(garbage, limit);
        ASSERT_GE(expected.size(), limit);
        for (std::uint32_t shuffle = 1; shuffle < 10; ++shuffle) {
            ASSERT_EQ(selected_from(garbage, limit, shuffle), expected) << "shuffle " << shuffle;
        }
    }
}

}  // namespace
}  // namespace cyclewatch::capture
