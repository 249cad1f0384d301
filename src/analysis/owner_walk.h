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
    model::OwnerId owner{};
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
    bool walk(std::span<const EdgeIx> cycle);

    // The following functions return the results of the latest walk.

    // The owners reached, largest first.
    [[nodiscard]] const std::vector<ReachedOwner>& owners() const { return reached_; }
    // The number of objects that the walk reached, including those on the cycle; 0 if walk()
    // returned false.
    [[nodiscard]] std::size_t nodes() const { return queue_.size(); }
    // Total bytes of the released storages that the walk reached. Each storage is counted once.
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
    // The path of references from the cycle to `node`. REQUIRES: the latest walk reached `node`.
    [[nodiscard]] std::vector<EdgeIx> path_to(NodeIx node) const;
    // "Engine.weights[3]"; with `generic`, "Engine.weights[x]".
    [[nodiscard]] std::string path_text(NodeIx node, bool generic) const;

    [[nodiscard]] NodeIx node_of(const ReachedOwner& reached) const;

  private:
    void visit(NodeIx node, EdgeIx by, std::uint64_t generic, std::uint64_t indexed);
    void collect(NodeIx node);
    void follow(NodeIx node, bool structural);

    const CollapsedGraph& graph_;
    const model::Observation& observation_;
    const RetainedSize& retained_;
    IndexedVector<model::OwnerId, std::uint64_t> owner_hash_;  // type, size, shape ...
    // The numbers of the latest walks that reached the nodes and storages:
    IndexedVector<NodeIx, std::uint32_t> seen_;
    IndexedVector<model::StorageId, std::uint32_t> storage_seen_;
    // The entries of a node are valid only if seen_[node] == walks_:
    IndexedVector<NodeIx, EdgeIx> reached_by_;           // last edge of the path; kNone: start
    IndexedVector<NodeIx, std::uint64_t> generic_path_;  // hash of the labels without indices
    IndexedVector<NodeIx, std::uint64_t> indexed_path_;  // hash of the labels with indices
    std::vector<NodeIx> queue_;
    std::vector<ReachedOwner> reached_;
    std::uint64_t bytes_ = 0;
    std::uint32_t walks_ = 0;
    std::uint64_t work_left_;
};

}  // namespace cyclewatch::analysis
