// SPDX-License-Identifier: Apache-2.0
#include "capture/clusters.h"

#include <unordered_map>

#include "base/populate.h"
#include "base/union_find.h"

namespace cyclewatch::capture {
namespace {

std::uint64_t mix(std::uint64_t value) {
    value ^= value >> 33;
    value *= 0xff51afd7ed558ccdULL;
    value ^= value >> 33;
    return value;
}

// Marks every object from which one of `owners` can be reached. Puts two owners into the same set
// if both can be reached from one object.
base::UnionFind mark_objects_reaching(const Adjacency& reverse,
                                      std::span<const std::uint32_t> owners,
                                      std::vector<std::uint32_t>& set_of) {
    base::UnionFind sets;
    std::vector<std::uint32_t> worklist;
    for (const std::uint32_t owner : owners) {
        if (set_of[owner] != kNoCluster) {
            continue;
        }
        const std::uint32_t set = set_of[owner] = sets.add();
        worklist.assign(1, owner);
        while (!worklist.empty()) {
            const std::uint32_t node = worklist.back();
            worklist.pop_back();
            for (const std::uint32_t holder : reverse.of(node)) {
                if (set_of[holder] == kNoCluster) {
                    set_of[holder] = set;
                    worklist.push_back(holder);
                } else if (set_of[holder] != set) {
                    sets.unite(set_of[holder], set);
                }
            }
        }
    }
    return sets;
}

}  // namespace

Clusters find_clusters(const Adjacency& graph,
                       const Adjacency& reverse,
                       std::span<const std::uint32_t> owners) {
    Clusters clusters;
    const auto nodes = static_cast<std::uint32_t>(graph.nodes());
    base::reserve_pages(clusters.of, nodes);
    clusters.of.assign(nodes, kNoCluster);
    base::UnionFind sets = mark_objects_reaching(reverse, owners, clusters.of);
    std::vector<std::uint32_t> number(sets.size(), kNoCluster);
    for (std::uint32_t node = 0; node < nodes; ++node) {
        if (clusters.of[node] == kNoCluster) {
            continue;
        }
        std::uint32_t& cluster = number[sets.find(clusters.of[node])];
        if (cluster == kNoCluster) {
            cluster = static_cast<std::uint32_t>(clusters.size.size());
            clusters.size.push_back(0);
        }
        clusters.of[node] = cluster;
        ++clusters.size[cluster];
    }
    return clusters;
}

std::vector<std::uint64_t> shapes_of(const Clusters& clusters,
                                     const Adjacency& graph,
                                     std::span<const std::uint32_t> kinds) {
    std::vector<std::uint64_t> shapes(clusters.size.size(), 0);
    for (std::uint32_t node = 0; node < graph.nodes(); ++node) {
        const std::uint32_t cluster = clusters.of[node];
        if (cluster == kNoCluster) {
            continue;
        }
        // The hashes are added, because a sum does not depend on the order of the objects.
        const std::uint64_t kind = kinds[node];
        std::uint64_t shape = mix(kind);
        for (const std::uint32_t target : graph.of(node)) {
            // A target that is in any cluster is in the same cluster as `node`.
            if (clusters.of[target] != kNoCluster) {
                shape += mix(kind << 32 | kinds[target]);
            }
        }
        shapes[cluster] += shape;
    }
    return shapes;
}

std::vector<ClusterChoice> choose_clusters(std::span<const std::uint64_t> sizes,
                                           std::span<const std::uint64_t> shapes,
                                           std::uint64_t max_objects,
                                           std::uint64_t max_repeated) {
    std::vector<ClusterChoice> choices(sizes.size());
    std::unordered_map<std::uint64_t, std::uint32_t> named;  // shape -> first cluster of it
    std::uint64_t objects = 0;
    for (std::uint32_t cluster = 0; cluster < choices.size(); ++cluster) {
        const auto equivalent = named.find(shapes[cluster]);
        const std::uint64_t limit = equivalent == named.end() ? max_objects : max_repeated;
        if (objects == 0 || objects + sizes[cluster] <= limit) {
            objects += sizes[cluster];
            named.try_emplace(shapes[cluster], cluster);
        } else if (equivalent != named.end()) {
            choices[cluster] = {ClusterChoice::Fate::repeated, equivalent->second};
        } else {
            choices[cluster].fate = ClusterChoice::Fate::omitted;
        }
    }
    return choices;
}

}  // namespace cyclewatch::capture
