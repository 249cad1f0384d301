// SPDX-License-Identifier: Apache-2.0
#include "analysis/occurrence_weights.h"

namespace cyclewatch::analysis {
namespace {

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

std::vector<ClusterTotals> total_up(const Representatives& representatives) {
    std::vector<ClusterTotals> totals(representatives.clusters);
    std::vector<bool> counted(representatives.storages.size(), false);
    for (const model::DeviceOwner& owner : representatives.owners) {
        ClusterTotals& total = totals[representatives.cluster_of[index_of(owner.node)]];
        ++total.owners;
        const std::size_t storage = index_of(owner.storage);
        if (!counted[storage] && representatives.storages[storage].released) {
            total.bytes += representatives.storages[storage].bytes;
        }
        counted[storage] = true;
    }
    return totals;
}

}  // namespace

std::vector<Weight> weigh_components(const CollapsedGraph& graph,
                                     const StrongComponents& components,
                                     const RetainedSize& held,
                                     const Representatives& representatives) {
    std::vector<Weight> weights(components.count());
    for (std::uint32_t node = 0; node < graph.nodes(); ++node) {
        weights[components.of[node]].copies = representatives.copies[graph.raw_node[node]];
    }
    if (representatives.repeats.empty()) {
        return weights;
    }
    const std::vector<ClusterTotals> totals = total_up(representatives);
    std::vector<model::RepeatedShape> repeats(representatives.clusters);
    for (const model::RepeatedShape& repeat : representatives.repeats) {
        model::RepeatedShape& all = repeats[representatives.cluster_of[index_of(repeat.twin)]];
        all.count += repeat.count;
        all.owners += repeat.owners;
        all.bytes += repeat.bytes;
    }
    std::vector<bool> weighed(components.count(), false);
    for (std::uint32_t node = 0; node < graph.nodes(); ++node) {
        const std::uint32_t component = components.of[node];
        const std::uint32_t cluster = representatives.cluster_of[graph.raw_node[node]];
        const model::RepeatedShape& repeat = repeats[cluster];
        if (weighed[component] || repeat.count == 0) {
            continue;
        }
        weighed[component] = true;
        Weight& weight = weights[component];
        const ClusterTotals& total = totals[cluster];
        weight.repeats = repeat.count;
        weight.further_held = share(repeat.bytes, held.held_by(component), total.bytes);
        // Then each of the captured owners stands for one in every cluster that was not.
        weight.repeats_equal = repeat.bytes == total.bytes * repeat.count &&
                               repeat.owners == total.owners * repeat.count;
    }
    return weights;
}

}  // namespace cyclewatch::analysis
