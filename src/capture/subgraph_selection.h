// SPDX-License-Identifier: Apache-2.0
// Selects a part of a cluster that is too large for the reference graph: first complete cycles near
// the owners, then the objects nearest to the owners.
//
// Objects are identified by their positions, as in raw_graph.h. Does not use Python.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "capture/raw_graph.h"

namespace cyclewatch::capture {

// A cluster of a graph.
struct ClusterGraph {
    const Adjacency& graph;
    const Adjacency& reverse;
    const std::vector<bool>& inside;  // per object of the graph
};

// A hash of the kind of an object. The hash is the same on every run.
using KindHash = std::function<std::uint32_t(std::uint32_t node)>;

// Returns the positions of the selected objects in ascending order. The result exceeds `limit` only
// to complete a cycle. `owners` may contain owners outside the cluster. The choice between objects
// at the same distance depends on their kinds and neighbors, not on their positions. Visits each
// reference of the cluster about twice, or more often if many objects are at the same distance. In
// the worst case, allocates about 5 bytes per object, plus 4 bytes for each object that is compared
// by kind.
[[nodiscard]] std::vector<std::uint32_t> select_subgraph(const ClusterGraph& cluster,
                                                         std::span<const std::uint32_t> owners,
                                                         const KindHash& kind_of,
                                                         std::uint64_t limit);

}  // namespace cyclewatch::capture
