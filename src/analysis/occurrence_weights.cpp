// SPDX-License-Identifier: Apache-2.0
#include "analysis/occurrence_weights.h"

#include <vector>

#include "base/union_find.h"

namespace cyclewatch::analysis {
namespace {

using model::NodeId;

// A weakly connected component of the raw graph.
struct Cluster {
    std::uint64_t owners = 0;
    std::uint64_t bytes = 0;        // released, each storage once
    model::RepeatedShape repeated;  // totals of the clusters of its shape that were only counted
};

// For each node, returns the first node of its cluster.
IndexedVector<NodeId, NodeId> clusters_of(const model::ReferenceGraph& graph) {
    base::UnionFind clusters(graph.nodes.size());
    IndexedVector<NodeId, NodeId> cluster_of(graph.nodes.size());
    for (const NodeId node : cluster_of.indexes()) {
        for (const model::Edge& edge : graph.edges_of(node)) {
            clusters.unite(static_cast<std::uint32_t>(node),
                           static_cast<std::uint32_t>(edge.target));
        }
    }
    for (const NodeId node : cluster_of.indexes()) {
        cluster_of[node] = NodeId{clusters.find(static_cast<std::uint32_t>(node))};
    }
    return cluster_of;
}

// Returns the clusters, each at the index of its first node.
IndexedVector<NodeId, Cluster> total_up(const model::Observation& observation,
                                        const IndexedVector<NodeId, NodeId>& cluster_of) {
    IndexedVector<NodeId, Cluster> clusters(cluster_of.size());
    IndexSet<StorageId> counted(observation.storages.size());
    for (const model::DeviceOwner& owner : observation.owners) {
        Cluster& cluster = clusters[cluster_of[owner.node]];
        ++cluster.owners;
        const model::Storage& storage = observation.storage_of(owner);
        if (counted.insert(owner.storage) && storage.released) {
            cluster.bytes += storage.bytes;
        }
    }
    for (const model::RepeatedShape& repeat : observation.repeats) {
        model::RepeatedShape& repeated = clusters[cluster_of[repeat.twin]].repeated;
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

IndexedVector<ComponentIx, Weight> weigh_components(const CollapsedGraph& graph,
                                                    const Components& components,
                                                    const RetainedSize& retained,
                                                    const model::Observation& observation) {
    IndexedVector<ComponentIx, Weight> weights(components.count());
    if (observation.repeats.empty()) {
        return weights;
    }
    const auto cluster_of = clusters_of(observation.graph);
    const auto clusters = total_up(observation, cluster_of);
    for (const NodeIx node : graph.all_nodes()) {
        const ComponentIx component = components.of[node];
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
