// SPDX-License-Identifier: Apache-2.0
// Which objects of a cluster are named when all of them would be too many: cycles near its owners,
// whole, and around them what is nearest to the owners.
//
// The positions are those of raw_graph.h. Pure arithmetic over them; no Python.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "capture/clusters.h"
#include "capture/raw_graph.h"

namespace cyclewatch::capture {

// Per object: whether it is named. `limit` objects or so; a cycle is never cut short for it.
// `kinds`: per object of the cluster, what it is, as a number that is the same on every run. Which
// of equally near objects are taken depends on these and on what surrounds them, not on positions.
// Time: about two looks at each reference of the cluster, and some more where many are equally
// near.
[[nodiscard]] std::vector<bool> select_subgraph(const Adjacency& graph,
                                                const Adjacency& reverse,
                                                const Clusters& clusters,
                                                std::uint32_t cluster,
                                                std::span<const std::uint32_t> owners,
                                                std::span<const std::uint32_t> kinds,
                                                std::uint64_t limit);

}  // namespace cyclewatch::capture
