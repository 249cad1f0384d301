// SPDX-License-Identifier: Apache-2.0
#include "analysis/ways_back.h"

#include <gtest/gtest.h>

#include <random>

#include "support/random_graph.h"

namespace cyclewatch::analysis {
namespace {

Component component_of(const test_support::RandomGraph& graph) {
    Component component;
    component.first.assign(graph.first.begin(), graph.first.end());
    component.targets.assign(graph.targets.begin(), graph.targets.end());
    component.nodes.resize(graph.nodes());
    for (std::uint32_t n = 0; n < graph.nodes(); ++n) {
        component.holder.insert(component.holder.end(), graph.first[n + 1] - graph.first[n], n);
    }
    return component;
}

// The definition: `holder` is not reachable from node 0 without `target`.
bool leads_back(const test_support::RandomGraph& graph,
                std::uint32_t holder,
                std::uint32_t target) {
    if (target == 0 || target == holder || holder == 0) {
        return target == 0 || target == holder;
    }
    return !test_support::reachable(graph, 0, target)[holder];
}

TEST(WaysBack, AreTheReferencesToDominators) {
    std::mt19937 random(7);
    int checked = 0;
    for (int round = 0; round < 2000; ++round) {
        const auto any = [](std::uint32_t, std::uint32_t) { return true; };
        const test_support::RandomGraph graph = test_support::random_graph(random, 8, 0.25, any);
        bool reaches_all = true;
        const std::vector<bool> reached = test_support::reachable(graph, 0);
        for (std::uint32_t n = 1; n < graph.nodes(); ++n) {
            reaches_all = reaches_all && reached[n];
        }
        if (!reaches_all) {
            continue;
        }
        ++checked;
        const Component component = component_of(graph);
        std::vector<std::uint32_t> expected;
        for (std::uint32_t e = 0; e < component.targets.size(); ++e) {
            if (leads_back(graph, component.holder[e], component.targets[e])) {
                expected.push_back(e);
            }
        }
        EXPECT_EQ(ways_back(component, 0), expected);
    }
    EXPECT_GT(checked, 300);
}

}  // namespace
}  // namespace cyclewatch::analysis
