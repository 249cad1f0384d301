// SPDX-License-Identifier: Apache-2.0
#include "analysis/repeats.h"

#include <numeric>

namespace cyclewatch::analysis {
namespace {

// Per node, a node that stands for all it is connected with, whichever way references go.
std::vector<std::uint32_t> clusters_of(const LogicalGraph& graph) {
    std::vector<std::uint32_t> parent(graph.nodes());
    std::iota(parent.begin(), parent.end(), 0U);
    const auto find = [&parent](std::uint32_t node) {
        while (parent[node] != node) {
            node = parent[node] = parent[parent[node]];
        }
        return node;
    };
    for (std::size_t e = 0; e < graph.edges.size(); ++e) {
        const std::uint32_t a = find(graph.edges[e].holder);
        const std::uint32_t b = find(graph.targets[e]);
        parent[a < b ? b : a] = a < b ? a : b;
    }
    for (std::uint32_t node = 0; node < graph.nodes(); ++node) {
        parent[node] = find(node);
    }
    return parent;
}

struct ClusterTotals {
    std::uint64_t owners = 0;
    std::uint64_t bytes = 0;  // released, each storage once
};

std::uint64_t share(std::uint64_t whole, std::uint64_t part, std::uint64_t of) {
    if (of == 0) {
        return 0;
    }
    return static_cast<std::uint64_t>(static_cast<double>(whole) *
                                      (static_cast<double>(part) / static_cast<double>(of)));
}

std::vector<ClusterTotals> total_up(const LogicalGraph& graph,
                                    const std::vector<std::uint32_t>& cluster,
                                    const model::Observation& observation) {
    std::vector<ClusterTotals> totals(graph.nodes());
    std::vector<bool> counted(observation.storages.size(), false);
    for (const model::DeviceOwner& owner : observation.owners) {
        const std::uint32_t node = graph.logical_of[index_of(owner.node)];
        ClusterTotals& total = totals[cluster[node]];
        ++total.owners;
        const std::size_t storage = index_of(owner.storage);
        if (!counted[storage] && observation.storages[storage].released) {
            total.bytes += observation.storages[storage].bytes;
        }
        counted[storage] = true;
    }
    return totals;
}

}  // namespace

std::vector<Weight> weigh_components(const LogicalGraph& graph,
                                     const StrongComponents& components,
                                     const HeldBytes& held,
                                     const model::Observation& observation) {
    std::vector<Weight> weights(components.count());
    if (observation.repeats.empty()) {
        return weights;
    }
    const std::vector<std::uint32_t> cluster = clusters_of(graph);
    const std::vector<ClusterTotals> totals = total_up(graph, cluster, observation);
    std::vector<model::RepeatedShape> repeats(graph.nodes());  // by cluster
    for (const model::RepeatedShape& repeat : observation.repeats) {
        model::RepeatedShape& all = repeats[cluster[graph.logical_of[index_of(repeat.twin)]]];
        all.count += repeat.count;
        all.owners += repeat.owners;
        all.bytes += repeat.bytes;
    }
    std::vector<bool> weighed(components.count(), false);
    for (std::uint32_t node = 0; node < graph.nodes(); ++node) {
        const std::uint32_t component = components.of[node];
        const model::RepeatedShape& repeat = repeats[cluster[node]];
        if (weighed[component] || repeat.count == 0) {
            continue;
        }
        weighed[component] = true;
        Weight& weight = weights[component];
        const ClusterTotals& total = totals[cluster[node]];
        weight.occurrences += repeat.count;
        weight.further_held = share(repeat.bytes, held.held_by(component), total.bytes);
        // Where the twins own exactly as much, each of its owners stands for one in every twin.
        const bool equal = repeat.bytes == total.bytes * repeat.count &&
                           repeat.owners == total.owners * repeat.count;
        weight.owner_factor += equal ? repeat.count : 0;
        weight.shared_factor += repeat.count;
    }
    return weights;
}

}  // namespace cyclewatch::analysis
