// SPDX-License-Identifier: Apache-2.0
#include "capture/region.h"

#include <algorithm>

namespace cyclewatch::capture {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;
constexpr std::size_t kHoldersTried = 64;  // per owner, nearest first

class Region {
  public:
    Region(const Adjacency& graph,
           const Adjacency& reverse,
           const Clusters& clusters,
           std::uint32_t cluster)
        : graph_(graph),
          reverse_(reverse),
          clusters_(clusters),
          cluster_(cluster),
          kept_(graph.nodes(), false),
          came_from_(graph.nodes(), kNone),
          looks_left_(2 * clusters.size[cluster]) {}

    // Keeps the shortest loop through the nearest holder of `owner` that is on one, and the way
    // from there to the owner. The first owner is served whatever it costs.
    void add_loop_of(std::uint32_t owner) {
        std::vector<std::uint32_t> towards_owner{owner};
        std::vector<std::uint32_t> next_on_way{kNone};
        for (std::size_t i = 0; i < towards_owner.size() && i < kHoldersTried; ++i) {
            if (!kept_nodes_.empty() && looks_left_ == 0) {
                return;
            }
            if (keep_shortest_loop(towards_owner[i])) {
                for (std::size_t step = i; step != kNone; step = next_on_way[step]) {
                    keep(towards_owner[step]);
                }
                return;
            }
            for (const std::uint32_t holder : reverse_.of(towards_owner[i])) {
                if (inside(holder) &&
                    std::ranges::find(towards_owner, holder) == towards_owner.end()) {
                    towards_owner.push_back(holder);
                    next_on_way.push_back(static_cast<std::uint32_t>(i));
                }
            }
        }
    }

    // Keeps what is nearest to what is kept and to the owners, up to `limit` objects in all.
    void fill(std::span<const std::uint32_t> owners, std::uint64_t limit) {
        for (const std::uint32_t owner : owners) {
            if (kept_nodes_.size() < limit && inside(owner)) {
                keep(owner);
            }
        }
        for (std::size_t i = 0; i < kept_nodes_.size(); ++i) {
            for (const std::uint32_t holder : reverse_.of(kept_nodes_[i])) {
                if (kept_nodes_.size() >= limit) {
                    return;
                }
                if (inside(holder)) {
                    keep(holder);
                }
            }
        }
    }

    [[nodiscard]] std::size_t size() const { return kept_nodes_.size(); }
    std::vector<bool> take() { return std::move(kept_); }

  private:
    [[nodiscard]] bool inside(std::uint32_t node) const { return clusters_.of[node] == cluster_; }

    void keep(std::uint32_t node) {
        if (!kept_[node]) {
            kept_[node] = true;
            kept_nodes_.push_back(node);
        }
    }

    // Breadth first from `start` until a reference leads back to it.
    bool keep_shortest_loop(std::uint32_t start) {
        reached_.assign(1, start);
        bool found = false;
        for (std::size_t i = 0; i < reached_.size() && !found; ++i) {
            const std::uint32_t node = reached_[i];
            looks_left_ -= looks_left_ > 0 ? 1 : 0;
            for (const std::uint32_t target : graph_.of(node)) {
                if (target == start) {
                    keep_way_back(start, node);
                    found = true;
                    break;
                }
                if (inside(target) && came_from_[target] == kNone) {
                    came_from_[target] = node;
                    reached_.push_back(target);
                }
            }
        }
        for (const std::uint32_t node : reached_) {
            came_from_[node] = kNone;
        }
        return found;
    }

    void keep_way_back(std::uint32_t start, std::uint32_t last) {
        for (std::uint32_t node = last; node != start; node = came_from_[node]) {
            keep(node);
        }
        keep(start);
    }

    const Adjacency& graph_;
    const Adjacency& reverse_;
    const Clusters& clusters_;
    const std::uint32_t cluster_;
    std::vector<bool> kept_;
    std::vector<std::uint32_t> kept_nodes_;
    std::vector<std::uint32_t> came_from_;  // of the search under way
    std::vector<std::uint32_t> reached_;    // by the search under way
    std::uint64_t looks_left_;
};

}  // namespace

std::vector<bool> choose_region(const Adjacency& graph,
                                const Adjacency& reverse,
                                const Clusters& clusters,
                                std::uint32_t cluster,
                                std::span<const std::uint32_t> owners,
                                std::uint64_t limit) {
    Region region(graph, reverse, clusters, cluster);
    for (const std::uint32_t owner : owners) {
        if (clusters.of[owner] == cluster && region.size() < limit) {
            region.add_loop_of(owner);
        }
    }
    region.fill(owners, limit);
    return region.take();
}

}  // namespace cyclewatch::capture
