// SPDX-License-Identifier: Apache-2.0
#include "capture/subgraph_selection.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "capture/sparse_array.h"

namespace cyclewatch::capture {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;
constexpr std::size_t kHoldersTried = 64;  // per owner, nearest first
constexpr int kRounds = 4;                 // the distance up to which a color includes neighbors

std::uint32_t mix(std::uint32_t value) {
    value ^= value >> 16;
    value *= 0x85ebca6bU;
    value ^= value >> 13;
    value *= 0xc2b2ae35U;
    return value ^ (value >> 16);
}

// The colors of objects. A color is a hash of an object and its neighborhood (color refinement, as
// in analysis/canonical_order.h). Colors are computed on demand and cached.
class Colors {
  public:
    Colors(const ClusterGraph& cluster, const KindHash& kind_of)
        : cluster_(cluster), kind_of_(kind_of) {
        known_.reserve(kRounds + 1);
        for (int round = 0; round <= kRounds; ++round) {
            known_.emplace_back(cluster.graph.nodes());
        }
    }

    std::uint32_t of(std::uint32_t node) { return color(node, kRounds); }

    // Stable sort by color.
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
        if (const std::uint32_t known = known_[round][node]; known != 0) {
            return known;
        }
        if (round == 0) {
            return known_[0].at(node) = kind_of_(node);
        }
        // The colors are added, because a sum does not depend on the order of the references.
        std::uint32_t sum = mix(color(node, round - 1));
        for (const std::uint32_t target : cluster_.graph.of(node)) {
            if (cluster_.inside[target]) {
                sum += mix(color(target, round - 1) * 3 + 1);
            }
        }
        for (const std::uint32_t holder : cluster_.reverse.of(node)) {
            if (cluster_.inside[holder]) {
                sum += mix(color(holder, round - 1) * 5 + 2);
            }
        }
        return known_[round].at(node) = std::max(sum, 1U);
    }

    const ClusterGraph& cluster_;
    const KindHash& kind_of_;
    std::vector<SparseArray> known_;  // per round and object; 0: unknown
};

// Selects the objects to keep. Searches visit objects by distance. Ties are broken by color, never
// by position.
class SubgraphSelection {
  public:
    SubgraphSelection(const ClusterGraph& cluster, Colors& colors)
        : graph_(cluster.graph),
          reverse_(cluster.reverse),
          inside_(cluster.inside),
          colors_(colors),
          kept_(graph_.nodes(), false),
          place_(graph_.nodes()),
          visits_left_(2 * static_cast<std::uint64_t>(std::ranges::count(inside_, true))) {}

    // Finds the nearest holder of `owner` that is on a cycle. Keeps the shortest cycle through this
    // holder, and the path from the holder to `owner`. The visit limit does not apply until a cycle
    // has been kept.
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

    // Keeps the owners, and then the objects nearest to those already kept, up to `limit` objects
    // in total.
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
    std::vector<std::uint32_t> take() {
        std::ranges::sort(kept_nodes_);
        return std::move(kept_nodes_);
    }

  private:
    // One object on a path to an owner.
    struct Step {
        std::uint32_t node;
        std::size_t next;  // index of the next step; kNone for the owner
    };

    [[nodiscard]] bool inside(std::uint32_t node) const { return inside_[node]; }

    void keep(std::uint32_t node) {
        if (!kept_[node]) {
            kept_[node] = true;
            kept_nodes_.push_back(node);
        }
    }

    // Adds a step for each holder of the object in step `next`, up to kHoldersTried steps in total.
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

    // Keeps a shortest cycle through `start`, found by a breadth-first search. Returns false if
    // there is no such cycle.
    bool keep_shortest_cycle(std::uint32_t start) {
        place_.at(start) = 1;
        std::vector<std::uint32_t> nearest{start};
        std::vector<std::uint32_t> farther;
        std::vector<std::uint32_t> closing;  // the nearest objects that refer to `start`
        std::uint64_t visits = 0;
        for (std::uint32_t place = 2; !nearest.empty() && closing.empty(); ++place) {
            farther.clear();
            for (const std::uint32_t node : nearest) {
                if (reach_from(node, start, place, farther)) {
                    closing.push_back(node);
                }
            }
            visits += nearest.size();
            nearest.swap(farther);
        }
        visits_left_ -= std::min(visits_left_, visits);
        const bool found = !closing.empty();
        if (found) {
            keep_path_from(std::move(closing), start);
        }
        place_.clear();
        return found;
    }

    // Returns true if `node` refers to `start`. If it does not, adds the newly reached targets of
    // `node` to `farther`, and records `place` for each of these targets.
    bool reach_from(std::uint32_t node,
                    std::uint32_t start,
                    std::uint32_t place,
                    std::vector<std::uint32_t>& farther) {
        for (const std::uint32_t target : graph_.of(node)) {
            if (target == start) {
                return true;
            }
            if (inside(target) && place_[target] == 0) {
                place_.at(target) = place;
                farther.push_back(target);
            }
        }
        return false;
    }

    // Keeps a shortest path from `start` to an object in `closing`. All objects in `closing` refer
    // to `start`.
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
            const std::uint32_t before = place_[node] - 1;
            std::ranges::copy_if(reverse_.of(node),
                                 std::back_inserter(nearest),
                                 [&](std::uint32_t holder) { return place_[holder] == before; });
        }
    }

    const Adjacency& graph_;
    const Adjacency& reverse_;
    const std::vector<bool>& inside_;
    Colors& colors_;
    std::vector<bool> kept_;
    std::vector<std::uint32_t> kept_nodes_;
    SparseArray place_;  // of the current search: 1 + the distance of each object; 0: not reached
    std::uint64_t visits_left_;
};

}  // namespace

std::vector<std::uint32_t> select_subgraph(const ClusterGraph& cluster,
                                           std::span<const std::uint32_t> owners,
                                           const KindHash& kind_of,
                                           std::uint64_t limit) {
    Colors colors(cluster, kind_of);
    std::vector<std::uint32_t> inside;
    std::ranges::copy_if(owners, std::back_inserter(inside), [&](std::uint32_t owner) {
        return cluster.inside[owner];
    });
    colors.sort(inside);
    SubgraphSelection subgraph(cluster, colors);
    for (const std::uint32_t owner : inside) {
        if (subgraph.size() < limit) {
            subgraph.add_cycle_of(owner);
        }
    }
    subgraph.fill(inside, limit);
    return subgraph.take();
}

}  // namespace cyclewatch::capture
