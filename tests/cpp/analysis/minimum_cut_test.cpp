// SPDX-License-Identifier: Apache-2.0
#include "analysis/minimum_cut.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>

#include "support/random_graph.h"

namespace cyclewatch::analysis {
namespace {

constexpr std::size_t kMost = 3;

struct Arc {
    std::uint32_t from;
    std::uint32_t to;
};

std::vector<Arc> arcs_of(const test_support::RandomGraph& graph) {
    std::vector<Arc> arcs;
    for (std::uint32_t from = 0; from < graph.nodes(); ++from) {
        for (const std::uint32_t to : graph.view().of(from)) {
            arcs.push_back({from, to});
        }
    }
    return arcs;
}

FlowNetwork network_of(std::uint32_t vertices, const std::vector<Arc>& arcs) {
    FlowNetwork network;
    for (std::uint32_t vertex = 0; vertex < vertices; ++vertex) {
        network.add_vertex();
    }
    for (const Arc& arc : arcs) {
        network.add(arc.from, arc.to, 1);
    }
    return network;
}

// Does a way lead from vertex 0 to the last one without the arcs in `cut`?
bool leads_on(std::uint32_t vertices,
              const std::vector<Arc>& arcs,
              const std::vector<std::uint32_t>& cut) {
    std::vector<bool> reached(vertices, false);
    reached[0] = true;
    for (std::uint32_t round = 0; round < vertices; ++round) {
        for (std::uint32_t a = 0; a < arcs.size(); ++a) {
            if (std::ranges::find(cut, a) == cut.end() && reached[arcs[a].from]) {
                reached[arcs[a].to] = true;
            }
        }
    }
    return reached[vertices - 1];
}

// The size of the smallest cut, by trying all; none up to `room` is nullopt.
std::optional<std::size_t> smallest(std::uint32_t vertices,
                                    const std::vector<Arc>& arcs,
                                    std::vector<std::uint32_t>& cut,
                                    std::uint32_t next,
                                    std::size_t room) {
    if (!leads_on(vertices, arcs, cut)) {
        return cut.size();
    }
    std::optional<std::size_t> best;
    for (std::uint32_t a = next; room > 0 && a < arcs.size(); ++a) {
        cut.push_back(a);
        const std::optional<std::size_t> size = smallest(vertices, arcs, cut, a + 1, room - 1);
        cut.pop_back();
        if (size && (!best || *size < *best)) {
            best = size;
        }
    }
    return best;
}

TEST(MinimumCut, IsTheSmallestOfAllOnRandomGraphs) {
    std::mt19937 random(7);
    std::vector<int> sizes(kMost + 2, 0);
    for (int round = 0; round < 200; ++round) {
        const auto graph = test_support::random_graph(
            random, 6, 0.45, [](std::uint32_t a, std::uint32_t b) { return a != b; });
        const std::vector<Arc> arcs = arcs_of(graph);
        FlowNetwork network = network_of(graph.nodes(), arcs);
        const auto cut = network.minimum_cut(0, graph.nodes() - 1, kMost);
        std::vector<std::uint32_t> none;
        const auto expected = smallest(graph.nodes(), arcs, none, 0, kMost);
        ASSERT_EQ(cut.found, expected.has_value());
        ++sizes[expected.value_or(kMost + 1)];
        if (cut.found) {
            EXPECT_EQ(cut.arcs.size(), *expected);
            EXPECT_FALSE(leads_on(graph.nodes(), arcs, cut.arcs));
        }
    }
    for (const int rounds : sizes) {
        EXPECT_GT(rounds, 2);
    }
}

TEST(MinimumCut, LiesNearTheSourceAndTakesNothingEndless) {
    FlowNetwork network = network_of(5, {{0, 1}, {1, 2}, {2, 4}});
    EXPECT_EQ(network.minimum_cut(0, 4, kMost).arcs, std::vector<std::uint32_t>{0});
    const std::uint32_t endless = network.add(0, 2, FlowNetwork::kEndless);
    EXPECT_EQ(network.minimum_cut(0, 4, kMost).arcs, std::vector<std::uint32_t>{2});
    network.take_out(2);
    const auto nothing_left = network.minimum_cut(0, 4, kMost);
    EXPECT_TRUE(nothing_left.found);
    EXPECT_TRUE(nothing_left.arcs.empty());
    EXPECT_TRUE(network.reached_from(0)[2]);
    network.take_out(endless);
    EXPECT_FALSE(network.reached_from(0)[4]);
}

TEST(MinimumCut, IsNotFoundWhereNothingCanBeCut) {
    FlowNetwork network = network_of(3, {});
    network.add(0, 1, FlowNetwork::kEndless);
    network.add(1, 2, FlowNetwork::kEndless);
    EXPECT_FALSE(network.minimum_cut(0, 2, kMost).found);
    EXPECT_TRUE(network.reached_from(0)[2]);
}

}  // namespace
}  // namespace cyclewatch::analysis
