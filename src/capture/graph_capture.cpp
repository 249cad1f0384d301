// SPDX-License-Identifier: Apache-2.0
#include "capture/graph_capture.h"

#include <string>
#include <unordered_map>
#include <utility>

#include "base/stable_hash.h"
#include "capture/clusters.h"
#include "capture/graph_builder.h"
#include "capture/object_summary.h"
#include "capture/raw_graph.h"
#include "capture/subgraph_selection.h"
#include "collector/unreachable_set.h"

namespace cyclewatch::capture {
namespace {

std::vector<PyObject*> concatenate(std::span<PyObject* const> first,
                                   std::span<PyObject* const> second) {
    std::vector<PyObject*> all;
    all.reserve(first.size() + second.size());
    all.insert(all.end(), first.begin(), first.end());
    all.insert(all.end(), second.begin(), second.end());
    return all;
}

std::vector<std::uint32_t> positions_of(std::span<PyObject* const> owners,
                                        const collector::PointerIndex& index) {
    std::vector<std::uint32_t> positions;
    positions.reserve(owners.size());
    for (PyObject* owner : owners) {
        positions.push_back(index.find(owner));
    }
    return positions;
}

// Per object of `cluster`: a hash of its kind that is the same on every run.
std::vector<std::uint32_t> kind_hashes(std::span<PyObject* const> objects,
                                       const RawGraph& graph,
                                       const Clusters& clusters,
                                       std::uint32_t cluster) {
    std::vector<std::uint32_t> kinds(objects.size(), 0);
    std::unordered_map<std::uint32_t, std::uint32_t> known;  // by kind
    for (std::uint32_t node = 0; node < kinds.size(); ++node) {
        if (clusters.of[node] != cluster) {
            continue;
        }
        const auto [entry, fresh] = known.try_emplace(graph.kinds[node], 0);
        if (fresh) {
            PyObject* const object = objects[node];
            const std::string name =
                PyFunction_Check(object) ? summarize(object).name : type_name(Py_TYPE(object));
            entry->second = static_cast<std::uint32_t>(base::StableHash().add(name).value());
        }
        kinds[node] = entry->second;
    }
    return kinds;
}

struct Selection {
    std::vector<std::uint32_t> objects;  // positions of the objects to name, ascending
    std::uint64_t omitted = 0;
};

Selection select(std::span<PyObject* const> objects,
                 const RawGraph& graph,
                 const Adjacency& reverse,
                 const Clusters& clusters,
                 const std::vector<ClusterChoice>& choices,
                 std::span<const std::uint32_t> owners,
                 const CaptureLimits& limits) {
    Selection selection;
    // The first cluster is always named. If it exceeds the limit, only part of it is.
    const bool is_partial = !clusters.size.empty() && clusters.size[0] > limits.max_objects;
    std::vector<bool> subgraph;
    if (is_partial) {
        const std::vector<std::uint32_t> kinds = kind_hashes(objects, graph, clusters, 0);
        subgraph = select_subgraph(
            graph.references, reverse, clusters, 0, owners, kinds, limits.max_subgraph());
    }
    for (std::uint32_t node = 0; node < clusters.of.size(); ++node) {
        const std::uint32_t cluster = clusters.of[node];
        if (cluster == kNoCluster || choices[cluster].fate == ClusterChoice::Fate::repeated) {
            continue;
        }
        const bool named = choices[cluster].fate == ClusterChoice::Fate::named &&
                           (!is_partial || cluster != 0 || subgraph[node]);
        if (named) {
            selection.objects.push_back(node);
        } else {
            ++selection.omitted;
        }
    }
    return selection;
}

// Determines for each owner whether it is a node, in a repeated cluster, or omitted. `nodes` and
// `positions` list the nodes and positions of the owners.
void place_owners(const Clusters& clusters,
                  const std::vector<ClusterChoice>& choices,
                  std::span<const std::uint32_t> positions,
                  std::span<const std::uint32_t> nodes,
                  CapturedGraph& captured) {
    std::unordered_map<std::uint32_t, model::NodeId> first_owner;  // of a named cluster
    std::unordered_map<std::uint32_t, std::uint32_t> repeat_of;    // named cluster -> index
    std::vector<bool> counted(choices.size(), false);
    for (std::size_t owner = 0; owner < positions.size(); ++owner) {
        if (nodes[owner] != kNotNamed) {
            const auto node = static_cast<model::NodeId>(nodes[owner]);
            first_owner.try_emplace(clusters.of[positions[owner]], node);
        }
    }
    captured.owners.reserve(positions.size());
    for (std::size_t owner = 0; owner < positions.size(); ++owner) {
        OwnerPlace& place = captured.owners.emplace_back();
        const std::uint32_t cluster = clusters.of[positions[owner]];
        if (nodes[owner] != kNotNamed) {
            place = {OwnerPlace::Kind::node, static_cast<model::NodeId>(nodes[owner]), 0};
        } else if (choices[cluster].fate == ClusterChoice::Fate::repeated) {
            const std::uint32_t named = choices[cluster].equivalent;
            const auto next = static_cast<std::uint32_t>(captured.repeats.size());
            const auto [entry, fresh] = repeat_of.try_emplace(named, next);
            if (fresh) {
                captured.repeats.push_back({.twin = first_owner.at(named)});
            }
            captured.repeats[entry->second].count += counted[cluster] ? 0 : 1;
            counted[cluster] = true;
            place = {OwnerPlace::Kind::repeated, {}, entry->second};
        }
    }
}

}  // namespace

GraphCapture::GraphCapture(std::span<PyObject* const> unreachable,
                           std::span<PyObject* const> dependents,
                           std::span<PyObject* const> owners)
    : owners_(owners),
      unreachable_(unreachable.size()),
      all_(dependents.empty() ? std::vector<PyObject*>() : concatenate(unreachable, dependents)),
      objects_(dependents.empty() ? unreachable : std::span<PyObject* const>(all_)) {
    index_.build(objects_);
    owner_positions_ = positions_of(owners, index_);
    graph_ = make_raw_graph(objects_, index_);
    reverse_ = reversed(graph_.references);
    clusters_ = find_clusters(graph_, reverse_, owner_positions_);
}

GraphIdentity GraphCapture::identify(ClusterIdentifier& identifier, bool values) const {
    ClusterIdentities identities =
        identifier.identify({objects_, unreachable_, index_, graph_, clusters_}, values);
    GraphIdentity identity;
    identity.clusters = std::move(identities.of_cluster);
    identity.owners.reserve(owner_positions_.size());
    for (const std::uint32_t position : owner_positions_) {
        identity.owners.push_back({clusters_.of[position], identities.number[position]});
    }
    return identity;
}

CapturedGraph GraphCapture::capture(const CaptureLimits& limits) {
    const std::vector<ClusterChoice> choices =
        choose_clusters(clusters_, limits.max_objects, limits.max_repeated());
    const Selection selection =
        select(objects_, graph_, reverse_, clusters_, choices, owner_positions_, limits);
    reverse_ = {};

    CapturedGraph captured;
    captured.omitted_objects = selection.omitted;
    GraphBuilder builder(
        objects_, unreachable_, graph_.references, selection.objects, limits.values);
    captured.graph = builder.build();
    captured.omitted_references = builder.omitted_references();
    std::vector<std::uint32_t> owner_nodes;
    for (PyObject* const owner : owners_) {
        owner_nodes.push_back(builder.node_of(owner));
    }
    place_owners(clusters_, choices, owner_positions_, owner_nodes, captured);
    return captured;
}

}  // namespace cyclewatch::capture
