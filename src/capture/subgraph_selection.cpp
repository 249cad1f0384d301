// SPDX-License-Identifier: Apache-2.0
#include "capture/subgraph_selection.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace cyclewatch::capture {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;
constexpr std::size_t kHoldersTried = 64;  // per owner, nearest first
constexpr int kRounds = 4;                 // the distance up to which a colour includes neighbours

std::uint32_t mix(std::uint32_t value) {
    value ^= value >> 16;
    value *= 0x85ebca6bU;
    value ^= value >> 13;
    value *= 0xc2b2ae35U;
    return value ^ (value >> 16);
}

// Hashes of objects and their neighbourhood (colour refinement, like analysis/canonical_order.h).
// Computed on demand and cached.
class Colors {
  public:
    Colors(const Adjacency& graph,
           const Adjacency& reverse,
           const Clusters& clusters,
           std::span<const std::uint32_t> kinds)
        : graph_(graph), reverse_(reverse), clusters_(clusters), kinds_(kinds) {}

    std::uint32_t of(std::uint32_t node) { return color(node, kRounds); }

    // Stable sort by colour.
    void sort(std::vector<std::uint32_t>& nodes) {
        std::vector<std::pair<std::uint32_t, std::uint32_t>> colored;
        if (nodes.size() > 1) {
            colored.reserve(nodes.size());
            for (const std::uint32_t node : nodes) {
                colored.emplace_back(of(node), node);
            }
            std::ranges::stable_sort(colored, {}, [](const auto& pair) { return pair.first; });
            std::ranges::transform(
                colored, nodes.begin(), [](const auto& pair) { return pair.second; });
        }
    }

  private:
    std::uint32_t color(std::uint32_t node, int round) {
        if (round == 0) {
            return kinds_[node];
        }
        std::vector<std::uint32_t>& known = known_[round - 1];
        if (known.empty()) {
            known.resize(graph_.nodes(), 0);
        }
        if (known[node] == 0) {
            // A sum does not depend on the order of the references.
            std::uint32_t sum = mix(color(node, round - 1));
            for (const std::uint32_t target : graph_.of(node)) {
                if (clusters_.of[target] == clusters_.of[node]) {
                    sum += mix(color(target, round - 1) * 3 + 1);
                }
            }
            for (const std::uint32_t holder : reverse_.of(node)) {
                if (clusters_.of[holder] == clusters_.of[node]) {
                    sum += mix(color(holder, round - 1) * 5 + 2);
                }
            }
            known[node] = std::max(sum, 1U);
        }
        return known[node];
    }

    const Adjacency& graph_;
    const Adjacency& reverse_;
    const Clusters& clusters_;
    std::span<const std::uint32_t> kinds_;
    std::array<std::vector<std::uint32_t>, kRounds> known_;  // per round and object; 0: unknown
};

// Searches visit objects by distance. Ties are broken by colour, never by position.
class SubgraphSelection {
  public:
    SubgraphSelection(const Adjacency& graph,
                      const Adjacency& reverse,
                      const Clusters& clusters,
                      std::uint32_t cluster,
                      Colors& colors)
        : graph_(graph),
          reverse_(reverse),
          clusters_(clusters),
          cluster_(cluster),
          colors_(colors),
          kept_(graph.nodes(), false),
          distance_(graph.nodes(), kNone),
          visits_left_(2 * clusters.size[cluster]) {}

    // Keeps the shortest cycle through the nearest holder of `owner` that is on a cycle, and the
    // path from there to the owner. The limit of visits does not apply to the first owner.
    void add_cycle_of(std::uint32_t owner) {
        std::vector<Step> steps{{owner, kNone}};
        for (std::size_t i = 0; i < steps.size(); ++i) {
            if (!kept_nodes_.empty() && visits_left_ == 0) {
                return;
            }
            if (keep_shortest_cycle(steps[i].node)) {
                for (std::size_t step = i; step != kNone; step = steps[step].next) {
                    keep(steps[step].node);
                }
                return;
            }
            add_holders(steps, i);
        }
    }

    // Keeps the owners and the objects nearest to the kept ones, up to `limit` objects in total.
    void fill(std::span<const std::uint32_t> owners, std::uint64_t limit) {
        for (const std::uint32_t owner : owners) {
            if (kept_nodes_.size() < limit) {
                keep(owner);
            }
        }
        for (std::size_t begin = 0; begin < kept_nodes_.size() && kept_nodes_.size() < limit;) {
            const std::size_t end = kept_nodes_.size();
            std::vector<std::uint32_t> holders;
            for (std::size_t i = begin; i < end; ++i) {
                for (const std::uint32_t holder : reverse_.of(kept_nodes_[i])) {
                    if (inside(holder) && !kept_[holder]) {
                        kept_[holder] = true;
                        holders.push_back(holder);
                    }
                }
            }
            if (const std::size_t room = limit - end; holders.size() > room) {
                colors_.sort(holders);
                for (; holders.size() > room; holders.pop_back()) {
                    kept_[holders.back()] = false;
                }
            }
            kept_nodes_.insert(kept_nodes_.end(), holders.begin(), holders.end());
            begin = end;
        }
    }

    [[nodiscard]] std::size_t size() const { return kept_nodes_.size(); }
    std::vector<bool> take() { return std::move(kept_); }

  private:
    // A step of a path to an owner.
    struct Step {
        std::uint32_t node;
        std::size_t next;  // index of the next step; kNone for the owner
    };

    [[nodiscard]] bool inside(std::uint32_t node) const { return clusters_.of[node] == cluster_; }

    void keep(std::uint32_t node) {
        if (!kept_[node]) {
            kept_[node] = true;
            kept_nodes_.push_back(node);
        }
    }

    // Adds the holders of step `next`, up to kHoldersTried steps in total.
    void add_holders(std::vector<Step>& steps, std::size_t next) {
        std::vector<std::uint32_t> holders;
        std::ranges::copy_if(reverse_.of(steps[next].node),
                             std::back_inserter(holders),
                             [this](std::uint32_t holder) { return inside(holder); });
        colors_.sort(holders);
        for (std::size_t i = 0; i < holders.size() && steps.size() < kHoldersTried; ++i) {
            if (std::ranges::find(steps, holders[i], &Step::node) == steps.end()) {
                steps.push_back({holders[i], next});
            }
        }
    }

    // Breadth-first search from `start` until a reference leads back to it.
    bool keep_shortest_cycle(std::uint32_t start) {
        reached_.assign(1, start);
        distance_[start] = 0;
        std::vector<std::uint32_t> closing;  // the nearest objects that refer to `start`
        std::size_t begin = 0;
        for (std::uint32_t away = 1; begin < reached_.size() && closing.empty(); ++away) {
            const std::size_t end = reached_.size();
            for (; begin < end; ++begin) {
                if (reach_from(reached_[begin], start, away)) {
                    closing.push_back(reached_[begin]);
                }
            }
        }
        visits_left_ -= std::min<std::uint64_t>(visits_left_, begin);
        if (!closing.empty()) {
            keep_path_from(closing, start);
        }
        for (const std::uint32_t node : reached_) {
            distance_[node] = kNone;
        }
        return !closing.empty();
    }

    // True if a reference of `node` leads back to `start`. New objects get the distance `away`.
    bool reach_from(std::uint32_t node, std::uint32_t start, std::uint32_t away) {
        for (const std::uint32_t target : graph_.of(node)) {
            if (target == start) {
                return true;
            }
            if (inside(target) && distance_[target] == kNone) {
                distance_[target] = away;
                reached_.push_back(target);
            }
        }
        return false;
    }

    // Keeps a shortest path from `start` to one of `closing`, which refer to it.
    void keep_path_from(std::vector<std::uint32_t> closing, std::uint32_t start) {
        keep(start);
        for (std::vector<std::uint32_t> nearest = std::move(closing);;) {
            colors_.sort(nearest);
            const std::uint32_t node = nearest.front();
            if (node == start) {
                return;
            }
            keep(node);
            nearest.clear();
            std::ranges::copy_if(
                reverse_.of(node), std::back_inserter(nearest), [&](std::uint32_t holder) {
                    return distance_[holder] == distance_[node] - 1;
                });
        }
    }

    const Adjacency& graph_;
    const Adjacency& reverse_;
    const Clusters& clusters_;
    const std::uint32_t cluster_;
    Colors& colors_;
    std::vector<bool> kept_;
    std::vector<std::uint32_t> kept_nodes_;
    // State of the current search: the distance of each object, and the objects that have been
    // reached.
    std::vector<std::uint32_t> distance_;
    std::vector<std::uint32_t> reached_;
    std::uint64_t visits_left_;
};

}  // namespace

std::vector<bool> select_subgraph(const Adjacency& graph,
                                  const Adjacency& reverse,
                                  const Clusters& clusters,
                                  std::uint32_t cluster,
                                  std::span<const std::uint32_t> owners,
                                  std::span<const std::uint32_t> kinds,
                                  std::uint64_t limit) {
    Colors colors(graph, reverse, clusters, kinds);
    std::vector<std::uint32_t> inside;
    std::ranges::copy_if(owners, std::back_inserter(inside), [&](std::uint32_t owner) {
        return clusters.of[owner] == cluster;
    });
    colors.sort(inside);
    SubgraphSelection subgraph(graph, reverse, clusters, cluster, colors);
    for (const std::uint32_t owner : inside) {
        if (subgraph.size() < limit) {
            subgraph.add_cycle_of(owner);
        }
    }
    subgraph.fill(inside, limit);
    return subgraph.take();
}

}  // namespace cyclewatch::capture
