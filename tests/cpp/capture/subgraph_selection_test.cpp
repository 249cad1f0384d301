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

// A cluster, and what its objects are.
struct Garbage {
    std::vector<Nodes> references;  // per object
    Nodes looks;
    Nodes owners;
};

// Each object refers to others at random, which leaves a few large cycles.
Garbage random_garbage(std::uint32_t seed) {
    std::mt19937 random(seed);
    Garbage garbage;
    for (std::uint32_t node = 0; node < 600; ++node) {
        garbage.references.push_back({});
        for (int i = 0; i < 3; ++i) {
            garbage.references.back().push_back(random() % 600);
        }
        garbage.looks.push_back(random() % 20);
    }
    for (int i = 0; i < 5; ++i) {
        garbage.owners.push_back(random() % 600);
    }
    return garbage;
}

// A ring around one owner, and a list of which every item refers to it: all items are equally near.
Garbage crowded_garbage() {
    Garbage garbage{{{1, 2}, {0}, {}}, {1, 2, 3}, {2}};
    for (std::uint32_t node = 3; node < 100; ++node) {
        garbage.references.push_back({2});
        garbage.looks.push_back(10 + node);
        garbage.references[1].push_back(node);
    }
    return garbage;
}

// The objects named of `garbage`, ascending. They are listed in another order, each with its
// references, if `shuffle` is not 0; the result does not show that.
Nodes region_of(const Garbage& garbage, std::uint64_t limit, std::uint32_t shuffle = 0) {
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
    Nodes looks;
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
        looks.push_back(garbage.looks[object]);
    }
    graph.kinds = looks;
    for (std::uint32_t& owner : owners) {
        owner = position[owner];
    }
    const Adjacency reverse = reversed(graph.references);
    const Clusters clusters = find_clusters(graph, reverse, owners);
    const std::vector<bool> named = select_subgraph(
        graph.references, reverse, clusters, clusters.of[owners[0]], owners, looks, limit);
    Nodes region;
    for (std::uint32_t object = 0; object < size; ++object) {
        if (named[position[object]]) {
            region.push_back(object);
        }
    }
    return region;
}

TEST(SubgraphSelection, KeepsTheCycleAndFillsUpFromThere) {
    // 0 -> 1 -> 2 -> 0 is the cycle, 4 the owner that 3 leads to; 5, 6 and 7 stand ever farther
    // off.
    const Garbage garbage{
        {{1}, {2}, {0, 3}, {4}, {}, {1}, {5}, {6}}, {1, 2, 3, 4, 5, 6, 7, 8}, {4}};
    EXPECT_EQ(region_of(garbage, 1), (Nodes{0, 1, 2, 3, 4}));
    EXPECT_EQ(region_of(garbage, 6), (Nodes{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(region_of(garbage, 7), (Nodes{0, 1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(region_of(garbage, 8).size(), 8U);
}

TEST(SubgraphSelection, IsTheSameInWhateverOrderTheCollectorListsTheObjects) {
    for (std::uint32_t seed = 1; seed < 8; ++seed) {
        const Garbage garbage = random_garbage(seed);
        const Nodes expected = region_of(garbage, 60);
        ASSERT_GE(expected.size(), 60U);
        for (std::uint32_t shuffle = 1; shuffle < 10; ++shuffle) {
            ASSERT_EQ(region_of(garbage, 60, shuffle), expected)
                << "seed " << seed << ", shuffle " << shuffle;
        }
    }
}

TEST(SubgraphSelection, TakesTheSameOnesOfManyThatAreEquallyNear) {
    const Nodes expected = region_of(crowded_garbage(), 20);
    ASSERT_EQ(expected.size(), 20U);
    for (std::uint32_t shuffle = 1; shuffle < 20; ++shuffle) {
        ASSERT_EQ(region_of(crowded_garbage(), 20, shuffle), expected) << "shuffle " << shuffle;
    }
}

}  // namespace
}  // namespace cyclewatch::capture
