// SPDX-License-Identifier: Apache-2.0
#include "analysis/occurrence_weights.h"

#include <vector>

#include "base/union_find.h"

namespace cyclewatch::analysis {
namespace {

// A weakly connected component of the raw graph.
struct Cluster {
    std::uint64_t owners = 0;
    std::uint64_t bytes = 0;        // released, each storage once
    model::RepeatedShape repeated;  // totals of the clusters of its shape that were only counted
};

// For each node, returns the first node of its cluster.
std::vector<std::uint32_t> clusters_of(const model::ReferenceGraph& graph) {
    base::UnionFind clusters(graph.nodes.size());
    for (std::uint32_t node = 0; node < graph.nodes.size(); ++node) {
        for (const model::Edge& edge : graph.edges_of(model::NodeId{node})) {
            clusters.unite(node, static_cast<std::uint32_t>(index_of(edge.target)));
        }
    }
    std::vector<std::uint32_t> cluster_of(graph.nodes.size());
    for (std::uint32_t node = 0; node < cluster_of.size(); ++node) {
        cluster_of[node] = clusters.find(node);
    }
    return cluster_of;
}

// Returns the clusters, each at the index of its first node.
std::vector<Cluster> total_up(const model::Observation& observation,
                              const std::vector<std::uint32_t>& cluster_of) {
    std::vector<Cluster> clusters(cluster_of.size());
    std::vector<bool> counted(observation.storages.size(), false);
    for (const model::DeviceOwner& owner : observation.owners) {
        Cluster& cluster = clusters[cluster_of[index_of(owner.node)]];
        ++cluster.owners;
        const std::size_t storage = index_of(owner.storage);
        if (!counted[storage] && observation.storages[storage].released) {
            cluster.bytes += observation.storages[storage].bytes;
        }
        counted[storage] = true;
    }
    for (const model::RepeatedShape& repeat : observation.repeats) {
        model::RepeatedShape& repeated = clusters[cluster_of[index_of(repeat.twin)]].repeated;
        repeated.count += repeat.count;
        repeated.owners += repeat.owners;
        repeated.bytes += repeat.bytes;
    }
    return clusters;
}

std::uint64_t proportion(std::uint64_t bytes, std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0
                      : static_cast<std::uint64_t>(
                            static_cast<double>(bytes) *
                            (static_cast<double>(part) / static_cast<double>(whole)));
}

}  // namespace

std::vector<Weight> weigh_components(const CollapsedGraph& graph,
                                     const graph::StrongComponents& components,
                                     const RetainedSize& retained,
                                     const model::Observation& observation) {
    std::vector<Weight> weights(components.count());
    if (observation.repeats.empty()) {
        return weights;
    }
    const std::vector<std::uint32_t> cluster_of = clusters_of(observation.graph);
    const std::vector<Cluster> clusters = total_up(observation, cluster_of);
    for (std::uint32_t node = 0; node < graph.nodes(); ++node) {
        const std::uint32_t component = components.of[node];
        const Cluster& cluster = clusters[cluster_of[graph.raw_node[node]]];
        const model::RepeatedShape& repeated = cluster.repeated;
        Weight& weight = weights[component];
        weight.repeats = repeated.count;
        weight.repeat_bytes =
            proportion(repeated.bytes, retained.held_by(component), cluster.bytes);
        weight.repeats_equal = repeated.bytes == cluster.bytes * repeated.count &&
                               repeated.owners == cluster.owners * repeated.count;
    }
    return weights;
}

}  // namespace cyclewatch::analysis
