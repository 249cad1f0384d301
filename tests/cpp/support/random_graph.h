// SPDX-License-Identifier: Apache-2.0
// Small random graphs, and brute-force reachability.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "graph/adjacency.h"

namespace cyclewatch::test_support {

struct RandomGraph {
    std::vector<std::uint32_t> first{0};
    std::vector<std::uint32_t> targets;

    [[nodiscard]] graph::AdjacencyView view() const { return {first, targets}; }
    [[nodiscard]] std::uint32_t nodes() const {
        return static_cast<std::uint32_t>(first.size() - 1);
    }
};

// Every pair (a, b) with allowed(a, b) becomes a reference with probability `density`.
template <typename Allowed>
RandomGraph random_graph(std::mt19937& random,
                         std::uint32_t nodes,
                         double density,
                         Allowed allowed) {
    RandomGraph graph;
    std::bernoulli_distribution refers(density);
    for (std::uint32_t from = 0; from < nodes; ++from) {
        for (std::uint32_t to = 0; to < nodes; ++to) {
            if (allowed(from, to) && refers(random)) {
                graph.targets.push_back(to);
            }
        }
        graph.first.push_back(static_cast<std::uint32_t>(graph.targets.size()));
    }
    return graph;
}

// reached[b]: a non-empty path leads from `start` to b without passing through `without`.
inline std::vector<bool> reachable(const RandomGraph& graph,
                                   std::uint32_t start,
                                   std::uint32_t without = UINT32_MAX) {
    std::vector<bool> reached(graph.nodes(), false);
    std::vector<std::uint32_t> open{start};
    while (!open.empty()) {
        const std::uint32_t node = open.back();
        open.pop_back();
        for (const std::uint32_t target : graph.view().of(node)) {
            if (target != without && !reached[target]) {
                reached[target] = true;
                open.push_back(target);
            }
        }
    }
    return reached;
}

}  // namespace cyclewatch::test_support
