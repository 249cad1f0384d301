// SPDX-License-Identifier: Apache-2.0
#include "capture/subgraph_selection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace cyclewatch::capture {
namespace {

using Nodes = std::vector<std::uint32_t>;

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

// The selected objects of `garbage`, ascending. If `shuffle` is not 0, the objects and references
// are passed in a random order.
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
    RawGraph graph;
    Nodes kinds;
    for (const std::uint32_t object : listed) {
        Nodes references = garbage.references[object];
        if (shuffle != 0) {
            std::shuffle(references.begin(), references.end(), random);
        }
        for (const std::uint32_t target : references) {
            graph.references.targets.push_back(position[target]);
        }
        graph.references.first.push_back(
            static_cast<std::uint32_t>(graph.references.targets.size()));
        kinds.push_back(garbage.kinds[object]);
    }
    graph.kinds = kinds;
    for (std::uint32_t& owner : owners) {
        owner = position[owner];
    }
    const Adjacency reverse = reversed(graph.references);
    const Clusters clusters = find_clusters(graph, reverse, owners);
    const std::vector<bool> named = select_subgraph(
        graph.references, reverse, clusters, clusters.of[owners[0]], owners, kinds, limit);
    Nodes selected;
    for (std::uint32_t object = 0; object < size; ++object) {
        if (named[position[object]]) {
            selected.push_back(object);
        }
    }
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
