// SPDX-License-Identifier: Apache-2.0
// Selects the unreachable objects that the reference graph will contain ("named" objects). Only
// objects from which an owner can be reached are selected. They are split into connected clusters;
// if many clusters have the same shape, only a few of them are named.
//
// Objects are identified by their positions, as in raw_graph.h. Does not use Python.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "capture/raw_graph.h"

namespace cyclewatch::capture {

inline constexpr std::uint32_t kNoCluster = UINT32_MAX;

// The objects from which an owner can be reached, in weakly connected clusters.
struct Clusters {
    std::vector<std::uint32_t> of;    // per object: its cluster, or kNoCluster
    std::vector<std::uint64_t> size;  // per cluster: number of objects
};

// `reverse` is the transposed `graph`.
[[nodiscard]] Clusters find_clusters(const Adjacency& graph,
                                     const Adjacency& reverse,
                                     std::span<const std::uint32_t> owners);

// For each cluster, returns a hash of the kinds of its objects and their references, independent of
// their order. `kinds` has one element per object; only the elements of objects in clusters are
// used.
[[nodiscard]] std::vector<std::uint64_t> shapes_of(const Clusters& clusters,
                                                   const Adjacency& graph,
                                                   std::span<const std::uint32_t> kinds);

// The decision about one cluster: whether its objects are named.
struct ClusterChoice {
    enum class Fate : std::uint8_t {
        named,     // part of the reference graph
        repeated,  // only counted: has the shape of the named cluster `equivalent`
        omitted,   // over the limit, and no named cluster has the same shape
    };
    Fate fate = Fate::named;
    std::uint32_t equivalent = kNoCluster;
};

// Chooses the clusters to name, in order. Clusters with a new shape are named up to a total of
// `max_objects` objects, and clusters with the same shape as a named one up to a total of
// `max_repeated` objects. The first cluster is always named. `sizes` and `shapes` have one element
// per cluster.
[[nodiscard]] std::vector<ClusterChoice> choose_clusters(std::span<const std::uint64_t> sizes,
                                                         std::span<const std::uint64_t> shapes,
                                                         std::uint64_t max_objects,
                                                         std::uint64_t max_repeated);

}  // namespace cyclewatch::capture
