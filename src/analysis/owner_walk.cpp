// SPDX-License-Identifier: Apache-2.0
#include "analysis/owner_walk.h"

#include <algorithm>

#include "analysis/names.h"
#include "base/stable_hash.h"

namespace cyclewatch::analysis {
namespace {

// Limits the total work of all walks to kMostPasses times the size of the graph, plus a constant.
constexpr std::uint64_t kMostPasses = 16;
constexpr std::uint64_t kSpareWork = 4'000'000;

constexpr std::size_t kLongestPath = 12;  // steps shown

std::uint64_t combine(std::uint64_t a, std::uint64_t b) {
    a = (a ^ (b + 0x9e3779b97f4a7c15ULL + (a << 6) + (a >> 2))) * 0xff51afd7ed558ccdULL;
    return a ^ (a >> 32);
}

}  // namespace

OwnerWalk::OwnerWalk(const CollapsedGraph& graph,
                     const model::Observation& observation,
                     const RetainedSize& retained)
    : graph_(graph),
      observation_(observation),
      retained_(retained),
      seen_(graph.size(), 0),
      storage_seen_(observation.storages.size(), 0),
      reached_by_(graph.size(), kNone),
      generic_path_(graph.size(), 0),
      indexed_path_(graph.size(), 0),
      work_left_(kMostPasses * (graph.size() + graph.edges.size()) + kSpareWork) {
    for (const model::DeviceOwner& owner : observation.owners) {
        const model::Storage& storage = observation.storage_of(owner);
        owner_hash_.push_back(base::StableHash()
                                  .add(owner.type)
                                  .add(owner.shape)
                                  .add(owner.dtype)
                                  .add(storage.device)
                                  .add(std::to_string(storage.bytes))
                                  .add(allocation_of(graph, owner))
                                  .value());
    }
}

NodeIx OwnerWalk::node_of(const ReachedOwner& reached) const {
    return graph_.node_of(observation_.owner(reached.owner));
}

void OwnerWalk::visit(NodeIx node, EdgeIx by, std::uint64_t generic, std::uint64_t indexed) {
    seen_[node] = walks_;
    reached_by_[node] = by;
    generic_path_[node] = generic;
    indexed_path_[node] = indexed;
    queue_.push_back(node);
    collect(node);
}

void OwnerWalk::collect(NodeIx node) {
    for (const model::OwnerId owner : retained_.owners_of(node)) {
        reached_.push_back(
            {owner, combine(generic_path_[node], owner_hash_[owner]), indexed_path_[node]});
        const model::StorageId storage = observation_.owner(owner).storage;
        if (storage_seen_[storage] != walks_) {
            storage_seen_[storage] = walks_;
            bytes_ += retained_.is_released(owner) ? observation_.storage(storage).bytes : 0;
        }
    }
}

void OwnerWalk::follow(NodeIx node, bool structural) {
    for (const EdgeIx e : graph_.edges_of(node)) {
        const NodeIx target = graph_.targets[e];
        if (graph_.edges[e].structural == structural && seen_[target] != walks_) {
            const model::EdgeLabel& label = graph_.edges[e].label;
            const std::uint64_t step =
                combine(graph_.text_hash[label.name], static_cast<std::uint64_t>(label.kind));
            visit(target,
                  e,
                  combine(generic_path_[node], step),
                  combine(indexed_path_[node], step + label.index));
        }
    }
    work_left_ -= std::min<std::uint64_t>(work_left_, 1 + graph_.edges_of(node).size());
}

bool OwnerWalk::walk(std::span<const EdgeIx> cycle) {
    ++walks_;
    queue_.clear();
    reached_.clear();
    bytes_ = 0;
    if (work_left_ == 0) {
        return false;
    }
    for (const EdgeIx edge : cycle) {
        const NodeIx node = graph_.edges[edge].holder;
        const std::uint64_t start = graph_.text_hash[graph_.node(node).name];
        visit(node, kNone, start, start);
    }
    // Follow structural references last, because a path through a class's __mro__ is not
    // informative.
    std::size_t plain = 0;
    std::size_t structural = 0;
    while (structural < queue_.size()) {
        if (plain < queue_.size()) {
            follow(queue_[plain++], false);
        } else {
            follow(queue_[structural++], true);
        }
    }
    const auto bytes_of = [this](const ReachedOwner& reached) {
        return observation_.storage_of(observation_.owner(reached.owner)).bytes;
    };
    std::stable_sort(
        reached_.begin(), reached_.end(), [&](const ReachedOwner& a, const ReachedOwner& b) {
            return bytes_of(a) > bytes_of(b);
        });
    return true;
}

std::vector<EdgeIx> OwnerWalk::path_to(NodeIx node) const {
    std::vector<EdgeIx> path;
    while (reached_by_[node] != kNone) {
        path.push_back(reached_by_[node]);
        node = graph_.edges[reached_by_[node]].holder;
    }
    std::reverse(path.begin(), path.end());
    return path;
}

std::string OwnerWalk::path_text(NodeIx node, bool generic) const {
    const std::vector<EdgeIx> path = path_to(node);
    std::string text = short_name(graph_, path.empty() ? node : graph_.edges[path[0]].holder);
    for (std::size_t i = 0; i < path.size(); ++i) {
        if (path.size() > kLongestPath && i == kLongestPath / 2) {
            text += "...";
            i = path.size() - kLongestPath / 2;
        }
        const std::string label =
            generic ? label_of_many(graph_, path[i]) : label_of(graph_, path[i]);
        text += label.front() == '.' || label.front() == '[' ? "" : ".";
        text += label;
    }
    return text;
}

}  // namespace cyclewatch::analysis
