// SPDX-License-Identifier: Apache-2.0
#include "analysis/representatives.h"

#include <map>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analysis/adjacency.h"
#include "analysis/collapsed_graph.h"

namespace cyclewatch::analysis {
namespace {

// Everything about a cluster as a row of numbers: equal rows, equal clusters.
using Form = std::u32string;

// Per node its cluster: all it is connected with, whichever way references go. Numbered in the
// order of their first nodes.
std::vector<std::uint32_t> clusters_of(const model::ReferenceGraph& graph, std::uint32_t& count) {
    std::vector<std::uint32_t> parent(graph.nodes.size());
    std::iota(parent.begin(), parent.end(), 0U);
    const auto find = [&parent](std::uint32_t node) {
        while (parent[node] != node) {
            node = parent[node] = parent[parent[node]];
        }
        return node;
    };
    for (std::uint32_t node = 0; node < parent.size(); ++node) {
        for (const model::Edge& edge : graph.edges_of(model::NodeId{node})) {
            const std::uint32_t a = find(node);
            const std::uint32_t b = find(static_cast<std::uint32_t>(index_of(edge.target)));
            parent[a < b ? b : a] = a < b ? a : b;
        }
    }
    // The first node of a cluster stands for it, so that it is numbered before the others ask.
    std::vector<std::uint32_t> cluster(parent.size());
    for (std::uint32_t node = 0; node < parent.size(); ++node) {
        const std::uint32_t first = find(node);
        cluster[node] = first == node ? count++ : cluster[first];
    }
    return cluster;
}

class Sampler {
  public:
    explicit Sampler(const model::Observation& observation)
        : observation_(observation),
          graph_(observation.graph),
          cluster_of_(clusters_of(graph_, clusters_)),
          nodes_(listed_by(cluster_of_, clusters_)),
          owners_(listed_by(clusters_of_owners(), clusters_)),
          place_(graph_.nodes.size()),
          storage_number_(observation.storages.size(), kNone) {
        for (std::uint32_t cluster = 0; cluster < clusters_; ++cluster) {
            std::uint32_t place = 0;
            for (const std::uint32_t node : nodes_.of(cluster)) {
                place_[node] = place++;
            }
        }
    }

    Representatives run() {
        Representatives representatives{.graph = graph_,
                                        .storages = observation_.storages,
                                        .repeats = observation_.repeats,
                                        .owners = {},
                                        .copied_storages = {},
                                        .clusters = clusters_,
                                        .cluster_of = cluster_of_,
                                        .copies = {}};
        const std::vector<std::uint32_t> stand_ins = find_stand_ins();
        std::vector<std::uint32_t> copies(clusters_, 0);
        for (const std::uint32_t stand_in : stand_ins) {
            ++copies[stand_in];
        }
        representatives.copies.reserve(cluster_of_.size());
        for (const std::uint32_t cluster : cluster_of_) {
            representatives.copies.push_back(copies[cluster]);
        }
        list_owners(representatives, stand_ins);
        return representatives;
    }

  private:
    [[nodiscard]] std::uint32_t cluster_of(model::NodeId node) const {
        return cluster_of_[index_of(node)];
    }

    [[nodiscard]] std::vector<std::uint32_t> clusters_of_owners() const {
        std::vector<std::uint32_t> clusters;
        clusters.reserve(observation_.owners.size());
        for (const model::DeviceOwner& owner : observation_.owners) {
            clusters.push_back(cluster_of(owner.node));
        }
        return clusters;
    }

    // Per cluster: the one that is analysed for it, often itself.
    std::vector<std::uint32_t> find_stand_ins() {
        std::vector<std::uint32_t> stand_ins(clusters_);
        std::iota(stand_ins.begin(), stand_ins.end(), 0U);
        const std::vector<bool> comparable = comparable_clusters();
        std::unordered_map<Form, std::uint32_t> first_of_form;
        for (std::uint32_t cluster = 0; cluster < clusters_; ++cluster) {
            if (comparable[cluster]) {
                stand_ins[cluster] =
                    first_of_form.try_emplace(form_of(cluster), cluster).first->second;
            }
        }
        return stand_ins;
    }

    void list_owners(Representatives& representatives,
                     const std::vector<std::uint32_t>& stand_ins) const {
        std::vector<std::size_t> place(observation_.owners.size());  // in the representatives
        for (std::size_t o = 0; o < place.size(); ++o) {
            const model::DeviceOwner& owner = observation_.owners[o];
            if (representatives.copies[index_of(owner.node)] > 0) {
                place[o] = representatives.owners.size();
                representatives.owners.push_back(owner);
            }
        }
        representatives.copied_storages.resize(representatives.owners.size());
        for (std::uint32_t cluster = 0; cluster < clusters_; ++cluster) {
            // Equal clusters list equal owners in the same order.
            const auto own = owners_.of(cluster);
            const auto equal = owners_.of(stand_ins[cluster]);
            for (std::size_t i = 0; stand_ins[cluster] != cluster && i < own.size(); ++i) {
                representatives.copied_storages[place[equal[i]]].push_back(
                    observation_.owners[own[i]].storage);
            }
        }
    }

    // Clusters that may be equal to another one.
    [[nodiscard]] std::vector<bool> comparable_clusters() const {
        std::vector<bool> comparable(clusters_, true);
        std::unordered_map<std::size_t, std::uint32_t> of_size;
        for (std::uint32_t cluster = 0; cluster < clusters_; ++cluster) {
            ++of_size[nodes_.of(cluster).size()];
        }
        for (std::uint32_t cluster = 0; cluster < clusters_; ++cluster) {
            comparable[cluster] = of_size[nodes_.of(cluster).size()] > 1;
        }
        for (const model::RepeatedShape& repeat : observation_.repeats) {
            comparable[cluster_of(repeat.twin)] = false;
        }
        std::vector<std::uint32_t> holder(observation_.storages.size(), kNone);
        for (const model::DeviceOwner& owner : observation_.owners) {
            std::uint32_t& cluster = holder[index_of(owner.storage)];
            const std::uint32_t other = cluster_of(owner.node);
            if (cluster != kNone && cluster != other) {
                comparable[cluster] = false;
                comparable[other] = false;
            }
            cluster = other;
        }
        return comparable;
    }

    // Valid until the next call.
    const Form& form_of(std::uint32_t cluster) {
        form_.clear();
        const auto add = [this](std::size_t number) {
            form_.push_back(static_cast<char32_t>(number));
        };
        add(nodes_.of(cluster).size());
        for (const std::uint32_t node : nodes_.of(cluster)) {
            const model::Node& described = graph_.nodes[node];
            const auto edges = graph_.edges_of(model::NodeId{node});
            add(static_cast<std::size_t>(described.kind) << 16 |
                static_cast<std::size_t>(described.role) << 8 |
                (described.locals_snapshot ? 2 : 0) | (described.unreachable ? 1 : 0));
            add(index_of(described.name));
            add(index_of(described.module));
            add(index_of(described.location.path));
            add(described.location.line);
            add(index_of(described.allocated.path));
            add(described.allocated.line);
            add(edges.size());
            for (const model::Edge& edge : edges) {
                add(place_[index_of(edge.target)]);
                add(static_cast<std::size_t>(edge.label.kind));
                add(index_of(edge.label.name));
                add(edge.label.index);
            }
        }
        std::uint32_t storages = 0;
        for (const std::uint32_t o : owners_.of(cluster)) {
            const model::DeviceOwner& owner = observation_.owners[o];
            std::uint32_t& number = storage_number_[index_of(owner.storage)];
            number = number == kNone ? storages++ : number;
            add(place_[index_of(owner.node)]);
            add(number);
            add(look_of(owner));
        }
        return form_;
    }

    // A number for all that is said of an owner and its storage.
    std::uint32_t look_of(const model::DeviceOwner& owner) {
        const model::Storage& storage = observation_.storages[index_of(owner.storage)];
        const auto next = static_cast<std::uint32_t>(looks_.size());
        const Look look{owner.type,
                        owner.shape,
                        owner.dtype,
                        owner.is_part,
                        storage.device,
                        storage.bytes,
                        storage.released};
        return looks_.try_emplace(look, next).first->second;
    }

    using Look = std::tuple<std::string_view,
                            std::string_view,
                            std::string_view,
                            bool,
                            std::string_view,
                            std::uint64_t,
                            bool>;

    const model::Observation& observation_;
    const model::ReferenceGraph& graph_;
    std::uint32_t clusters_ = 0;
    std::vector<std::uint32_t> cluster_of_;  // per node
    Rows<> nodes_;
    Rows<> owners_;
    std::vector<std::uint32_t> place_;           // per node: in its cluster
    std::vector<std::uint32_t> storage_number_;  // per storage: in its cluster
    std::map<Look, std::uint32_t> looks_;
    Form form_;
};

}  // namespace

Representatives choose_representatives(const model::Observation& observation) {
    return Sampler(observation).run();
}

}  // namespace cyclewatch::analysis
