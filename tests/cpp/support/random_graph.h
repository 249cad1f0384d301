// SPDX-License-Identifier: Apache-2.0
// Small random graphs, and brute-force reachability.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "graph/dominators.h"

namespace cyclewatch::test_support {

using Vertex = graph::TreeIx;  // so that dominators() accepts it
enum class Arc : std::uint32_t {};
using RandomGraph = graph::Graph<Vertex, Arc>;

// Every pair (a, b) with allowed(a, b) becomes a reference with probability `density`.
template <typename Allowed>
RandomGraph random_graph(std::mt19937& random, std::size_t nodes, double density, Allowed allowed) {
    RandomGraph graph;
    std::bernoulli_distribution refers(density);
    for (const Vertex from : base::IndexRange<Vertex>(nodes)) {
        for (const Vertex to : base::IndexRange<Vertex>(nodes)) {
            if (allowed(from, to) && refers(random)) {
                graph.targets.push_back(to);
            }
        }
        graph.end_node();
    }
    return graph;
}

// The vertices to which a non-empty path leads from `start` without passing through `without`.
inline base::IndexSet<Vertex> reachable(const RandomGraph& graph,
                                        Vertex start,
                                        Vertex without = base::kNone) {
    base::IndexSet<Vertex> reached;
    std::vector<Vertex> open{start};
    while (!open.empty()) {
        const Vertex node = open.back();
        open.pop_back();
        for (const Vertex target : graph.targets_of(node)) {
            if (target != without && reached.insert(target)) {
                open.push_back(target);
            }
        }
    }
    return reached;
}

}  // namespace cyclewatch::test_support
