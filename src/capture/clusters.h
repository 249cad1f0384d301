// SPDX-License-Identifier: Apache-2.0
// Which of the dying objects are worth naming: those on a way to an owner, split into clusters
// that have nothing to do with each other, and of many clusters of one shape only a few.
//
// The positions are those of raw_graph.h. Pure arithmetic over them; no Python.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "capture/raw_graph.h"

namespace cyclewatch::capture {

inline constexpr std::uint32_t kNoCluster = UINT32_MAX;

// The objects from which an owner can be reached, in weakly connected clusters.
struct Clusters {
    std::vector<std::uint32_t> of;     // per object: its cluster, or kNoCluster
    std::vector<std::uint64_t> size;   // per cluster: objects
    std::vector<std::uint64_t> shape;  // per cluster: hash of what its objects are and how they
                                       // refer to each other, independent of their order
};

// `reverse` is the references of `graph` the other way round.
[[nodiscard]] Clusters find_clusters(const RawGraph& graph,
                                     const Adjacency& reverse,
                                     std::span<const std::uint32_t> owners);

// What becomes of one cluster.
struct ClusterChoice {
    enum class Fate : std::uint8_t {
        named,     // its objects go into the reference graph
        repeated,  // same shape as the named cluster `twin`: counted with it
        omitted,   // over the limit, and of a shape that no named cluster has
    };
    Fate fate = Fate::named;
    std::uint32_t twin = kNoCluster;
};

// Names clusters in order: while no more than `max_objects` are named in all if the shape is new,
// and no more than `max_repeated` if a named cluster has it already. At least one is always
// named, however large.
[[nodiscard]] std::vector<ClusterChoice> choose_clusters(const Clusters& clusters,
                                                         std::uint64_t max_objects,
                                                         std::uint64_t max_repeated);

}  // namespace cyclewatch::capture
