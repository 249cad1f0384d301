// SPDX-License-Identifier: Apache-2.0
#include "capture/graph_capture.h"

#include <algorithm>
#include <cstddef>
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

// Hashes the kind of each object. The hashes are the same on every run.
class StableKinds {
  public:
    explicit StableKinds(std::span<PyObject* const> objects) : objects_(objects) {}

    std::uint32_t of(std::uint32_t node) {
        PyObject* const object = objects_[node];
        const auto [entry, fresh] = known_.try_emplace(kind_of(object), 0);
        if (fresh) {
            const std::string name =
                PyFunction_Check(object) ? summarize(object).name : type_name(Py_TYPE(object));
            entry->second = static_cast<std::uint32_t>(base::StableHash().add(name).value());
        }
        return entry->second;
    }

  private:
    std::span<PyObject* const> objects_;
    std::unordered_map<std::uint32_t, std::uint32_t> known_;  // by kind_of()
};

// If there is only one cluster, its shape is not computed, because there is no other shape to
// compare it with.
std::vector<std::uint64_t> shapes_if_compared(std::span<PyObject* const> objects,
                                              const Clusters& clusters,
                                              const Adjacency& graph) {
    if (clusters.size.size() < 2) {
        return std::vector<std::uint64_t>(clusters.size.size(), 0);
    }
    std::vector<std::uint32_t> kinds(objects.size(), 0);
    for (std::uint32_t node = 0; node < kinds.size(); ++node) {
        if (clusters.of[node] != kNoCluster) {
            kinds[node] = kind_of(objects[node]);
        }
    }
    return shapes_of(clusters, graph, kinds);
}

std::vector<bool> objects_of(std::uint32_t cluster, const Clusters& clusters) {
    std::vector<bool> inside(clusters.of.size());
    for (std::size_t node = 0; node < inside.size(); ++node) {
        inside[node] = clusters.of[node] == cluster;
    }
    return inside;
}

// Determines for each owner whether it is a node, is in a repeated cluster, or is omitted. `nodes`
// and `clusters` contain the node and the cluster of each owner.
void place_owners(const std::vector<ClusterChoice>& choices,
                  std::span<const std::uint32_t> clusters,
                  std::span<const std::uint32_t> nodes,
                  CapturedGraph& captured) {
    std::unordered_map<std::uint32_t, model::NodeId> first_owner;  // of a named cluster
    std::unordered_map<std::uint32_t, std::uint32_t> repeat_of;    // named cluster -> index
    std::vector<bool> counted(choices.size(), false);
    for (std::size_t owner = 0; owner < clusters.size(); ++owner) {
        if (nodes[owner] != kNotNamed) {
            const auto node = static_cast<model::NodeId>(nodes[owner]);
            first_owner.try_emplace(clusters[owner], node);
        }
    }
    captured.owners.reserve(clusters.size());
    for (std::size_t owner = 0; owner < clusters.size(); ++owner) {
        OwnerPlace& place = captured.owners.emplace_back();
        const std::uint32_t cluster = clusters[owner];
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
                           std::span<PyObject* const> owners,
                           const collector::HiddenReferences* hidden)
    : owners_(owners),
      hidden_(hidden),
      unreachable_(unreachable.size()),
      all_(dependents.empty() ? std::vector<PyObject*>() : concatenate(unreachable, dependents)),
      objects_(dependents.empty() ? unreachable : std::span<PyObject* const>(all_)) {
    index_.build(objects_);
    owner_positions_ = positions_of(owners, index_);
    graph_ = make_raw_graph(objects_, index_, hidden_);
    if (objects_.size() > kManyObjects) {
        index_ = {};
    }
    reverse_ = reversed(graph_);
    clusters_ = find_clusters(graph_, reverse_, owner_positions_);
    if (objects_.size() > kManyObjects &&
        (clusters_.size.empty() || clusters_.size[0] <= kManyObjects)) {
        reverse_ = {};
    }
    owner_clusters_.reserve(owner_positions_.size());
    for (const std::uint32_t position : owner_positions_) {
        owner_clusters_.push_back(clusters_.of[position]);
    }
}

GraphIdentity GraphCapture::identify(ClusterIdentifier& identifier, bool values) {
    if (objects_.size() > kManyObjects && ClusterIdentifier::may_know(clusters_)) {
        index_.build(objects_);
    }
    ClusterIdentities identities =
        identifier.identify({objects_, unreachable_, index_, graph_, clusters_}, values);
    GraphIdentity identity;
    identity.clusters = std::move(identities.of_cluster);
    identity.owners.reserve(owner_positions_.size());
    for (std::size_t owner = 0; owner < owner_positions_.size(); ++owner) {
        identity.owners.push_back(
            {owner_clusters_[owner],
             identities.number.empty() ? 0 : identities.number[owner_positions_[owner]]});
    }
    return identity;
}

// Selects the objects of the named clusters.
GraphCapture::Selection GraphCapture::select(const std::vector<ClusterChoice>& choices) const {
    Selection selection;
    for (std::uint32_t node = 0; node < clusters_.of.size(); ++node) {
        const std::uint32_t cluster = clusters_.of[node];
        if (cluster == kNoCluster || choices[cluster].fate == ClusterChoice::Fate::repeated) {
            continue;
        }
        if (choices[cluster].fate == ClusterChoice::Fate::named) {
            selection.objects.push_back(node);
        } else {
            ++selection.omitted;
        }
    }
    return selection;
}

// Selects a part of the first cluster. That cluster alone exceeds the limit, so all other clusters
// are repeated or omitted. Frees data that is no longer needed, because memory use peaks here.
GraphCapture::Selection GraphCapture::select_part(const std::vector<ClusterChoice>& choices,
                                                  std::uint64_t limit) {
    if (reverse_.nodes() != graph_.nodes()) {
        reverse_ = reversed(graph_);
    }
    const std::vector<bool> inside = objects_of(0, clusters_);
    clusters_.of = {};
    StableKinds kinds(objects_);
    Selection selection;
    selection.objects = select_subgraph(
        {graph_, reverse_, inside},
        owner_positions_,
        [&](std::uint32_t node) { return kinds.of(node); },
        limit);
    selection.omitted = clusters_.size[0] - selection.objects.size();
    for (std::size_t cluster = 1; cluster < choices.size(); ++cluster) {
        if (choices[cluster].fate == ClusterChoice::Fate::omitted) {
            selection.omitted += clusters_.size[cluster];
        }
    }
    return selection;
}

CapturedGraph GraphCapture::capture(const CaptureLimits& limits) {
    index_ = {};
    const std::vector<ClusterChoice> choices =
        choose_clusters(clusters_.size,
                        shapes_if_compared(objects_, clusters_, graph_),
                        limits.max_objects,
                        limits.max_repeated());
    // The first cluster is always named. If that cluster exceeds the limit, only a part of it is
    // named, and no other cluster is named.
    const bool is_partial = !clusters_.size.empty() && clusters_.size[0] > limits.max_objects;
    const Selection selection =
        is_partial ? select_part(choices, limits.max_subgraph()) : select(choices);
    reverse_ = {};

    CapturedGraph captured;
    captured.omitted_objects = selection.omitted;
    GraphBuilder builder(objects_, unreachable_, graph_, selection.objects, limits.values, hidden_);
    captured.graph = builder.build();
    captured.omitted_references = builder.omitted_references();
    std::vector<std::uint32_t> owner_nodes;
    for (PyObject* const owner : owners_) {
        owner_nodes.push_back(builder.node_of(owner));
    }
    place_owners(choices, owner_clusters_, owner_nodes, captured);
    return captured;
}

}  // namespace cyclewatch::capture
