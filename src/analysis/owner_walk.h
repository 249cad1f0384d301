// SPDX-License-Identifier: Apache-2.0
// From a cycle to the owners that hang off it: which, how much, and on which way.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analysis/collapsed_graph.h"
#include "analysis/representatives.h"
#include "analysis/retained_size.h"

namespace cyclewatch::analysis {

struct ReachedOwner {
    std::uint32_t owner = 0;  // index into Representatives::owners
    // Equal for owners that look alike and are reached alike; indices do not count.
    std::uint64_t group = 0;
    std::uint64_t way = 0;  // equal for owners reached by the same labels, indices included
};

class OwnerWalk {
  public:
    OwnerWalk(const CollapsedGraph& graph, const Representatives& representatives);

    // Walks from the holders of `cycle`. False if the walks so far were so long that this one is
    // left out: many cycles over one large structure must not cost their product.
    bool walk(std::span<const std::uint32_t> cycle);

    // Of the latest walk. Largest first.
    [[nodiscard]] const std::vector<ReachedOwner>& owners() const { return reached_; }
    // Objects that were reached, those of the cycle included; 0 if the walk was left out.
    [[nodiscard]] std::size_t nodes() const { return queue_.size(); }
    // Bytes of all released storages that were reached, each once.
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
    // The references from the cycle to `node`, which was reached by the latest walk.
    [[nodiscard]] std::vector<std::uint32_t> way_to(std::uint32_t node) const;
    // "Engine.weights['w']"; `generic`: "Engine.weights[x]" for indices.
    [[nodiscard]] std::string path_text(std::uint32_t node, bool generic) const;

    [[nodiscard]] std::uint32_t node_of(const ReachedOwner& reached) const;

  private:
    void visit(std::uint32_t node, std::uint32_t by, std::uint64_t path, std::uint64_t way);
    void collect(std::uint32_t node);
    void follow(std::uint32_t node, bool structural);

    const CollapsedGraph& graph_;
    const Representatives& representatives_;
    std::vector<std::uint64_t> looks_;         // per owner: hash of type, size, shape ...
    Rows<> owners_of_;                         // per collapsed node: owner indices
    std::vector<std::uint64_t> label_hash_;    // per text
    std::vector<std::uint32_t> seen_;          // per node: number of the walk
    std::vector<std::uint32_t> storage_seen_;  // per storage
    std::vector<std::uint32_t> came_by_;       // per node, valid where seen_ is current
    std::vector<std::uint64_t> path_;          // per node: hash of the labels from the cycle
    std::vector<std::uint64_t> way_;           // per node: the same with their indices
    std::vector<std::uint32_t> queue_;
    std::vector<ReachedOwner> reached_;
    std::uint64_t bytes_ = 0;
    std::uint32_t walks_ = 0;
    std::uint64_t work_left_;
};

}  // namespace cyclewatch::analysis
