// SPDX-License-Identifier: Apache-2.0
// Finds the memory owners that can be reached from a cycle, and the shortest paths to them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analysis/collapsed_graph.h"
#include "analysis/retained_size.h"
#include "model/observation.h"

namespace cyclewatch::analysis {

struct ReachedOwner {
    std::uint32_t owner = 0;      // index into Observation::owners
    std::uint64_t group = 0;      // hash of the owner's description and the labels of its path,
                                  // without indices
    std::uint64_t path_hash = 0;  // hash of the labels of its path, with indices
};

// A breadth-first search. One instance is used for all cycles. Prefers paths without structural
// references.
class OwnerWalk {
  public:
    OwnerWalk(const CollapsedGraph& graph,
              const model::Observation& observation,
              const RetainedSize& retained);

    // Searches from the holders of `cycle`. Returns false without searching once the total work of
    // all walks exceeds a limit. The limit is needed because one large structure may be reachable
    // from many cycles.
    bool walk(std::span<const std::uint32_t> cycle);

    // The following functions return the results of the latest walk.

    // The owners reached, largest first.
    [[nodiscard]] const std::vector<ReachedOwner>& owners() const { return reached_; }
    // The number of objects that the walk reached, including those on the cycle; 0 if walk()
    // returned false.
    [[nodiscard]] std::size_t nodes() const { return queue_.size(); }
    // Total bytes of the released storages that the walk reached. Each storage is counted once.
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
    // The path of references from the cycle to `node`. REQUIRES: the latest walk reached `node`.
    [[nodiscard]] std::vector<std::uint32_t> path_to(std::uint32_t node) const;
    // "Engine.weights[3]"; with `generic`, "Engine.weights[x]".
    [[nodiscard]] std::string path_text(std::uint32_t node, bool generic) const;

    [[nodiscard]] std::uint32_t node_of(const ReachedOwner& reached) const;

  private:
    void visit(std::uint32_t node, std::uint32_t by, std::uint64_t generic, std::uint64_t indexed);
    void collect(std::uint32_t node);
    void follow(std::uint32_t node, bool structural);

    const CollapsedGraph& graph_;
    const model::Observation& observation_;
    const RetainedSize& retained_;
    std::vector<std::uint64_t> owner_hash_;  // per owner: type, size, shape ...
    std::vector<std::uint64_t> text_hash_;   // per string
    std::vector<std::uint32_t> seen_;        // per node: number of the latest walk that reached it
    std::vector<std::uint32_t> storage_seen_;  // per storage: likewise
    // Per node; the entries of a node are valid only if seen_[node] == walks_:
    std::vector<std::uint32_t> reached_by_;    // the last reference of the path; kNone: start
    std::vector<std::uint64_t> generic_path_;  // hash of the labels without indices
    std::vector<std::uint64_t> indexed_path_;  // hash of the labels with indices
    std::vector<std::uint32_t> queue_;
    std::vector<ReachedOwner> reached_;
    std::uint64_t bytes_ = 0;
    std::uint32_t walks_ = 0;
    std::uint64_t work_left_;
};

}  // namespace cyclewatch::analysis
