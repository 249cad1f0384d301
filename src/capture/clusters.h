// SPDX-License-Identifier: Apache-2.0
// Selects the unreachable objects that the reference graph will contain ("named" objects). Only
// objects from which an owner can be reached are selected. They are split into connected clusters.
// Clusters with the same kinds of objects and references have the same shape; only a few clusters
// of each shape are named.
//
// Objects are identified by their positions, as in raw_graph.h. Does not use Python.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "capture/raw_graph.h"

namespace cyclewatch::capture {

inline constexpr std::uint32_t kNoCluster = UINT32_MAX;

// The objects from which an owner can be reached, grouped into weakly connected clusters.
struct Clusters {
    std::vector<std::uint32_t> of;    // per object: its cluster, or kNoCluster
    std::vector<std::uint64_t> size;  // per cluster: number of objects
};

// `reverse` is the transposed `graph`.
[[nodiscard]] Clusters find_clusters(const Adjacency& graph,
                                     const Adjacency& reverse,
                                     std::span<const std::uint32_t> owners);

// For each cluster, returns a hash of its references and of the kinds of its objects. The hash does
// not depend on the order of the objects. `kinds` has one element per object; elements for objects
// outside the clusters are ignored.
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

// Goes through the clusters in order and decides which of them to name. Clusters with a new shape
// are named until the named clusters contain `max_objects` objects in total. Clusters with the
// shape of a named cluster are named only up to a total of `max_repeated` objects. The first
// cluster is always named. `sizes` and `shapes` have one element per cluster.
[[nodiscard]] std::vector<ClusterChoice> choose_clusters(std::span<const std::uint64_t> sizes,
                                                         std::span<const std::uint64_t> shapes,
                                                         std::uint64_t max_objects,
                                                         std::uint64_t max_repeated);

}  // namespace cyclewatch::capture
