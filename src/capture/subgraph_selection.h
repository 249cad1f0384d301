// SPDX-License-Identifier: Apache-2.0
// Selects the objects to name in a cluster that is too large: complete cycles near its owners, and
// then the objects nearest to the owners.
//
// Objects are positions as in raw_graph.h. Does not use Python.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "capture/clusters.h"
#include "capture/raw_graph.h"

namespace cyclewatch::capture {

// Returns for each object whether it is named. Exceeds `limit` only to complete a cycle. `kinds`:
// per object of the cluster, a hash of its kind that is the same on every run. The choice between
// objects at the same distance depends on their kinds and neighbours, not on their positions.
// Visits each reference of the cluster about twice, or more often if many objects have the same
// distance.
[[nodiscard]] std::vector<bool> select_subgraph(const Adjacency& graph,
                                                const Adjacency& reverse,
                                                const Clusters& clusters,
                                                std::uint32_t cluster,
                                                std::span<const std::uint32_t> owners,
                                                std::span<const std::uint32_t> kinds,
                                                std::uint64_t limit);

}  // namespace cyclewatch::capture
