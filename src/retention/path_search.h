// SPDX-License-Identifier: Apache-2.0
// Searches for shortest paths from roots to one object, and for the references that all paths
// share. Breadth-first, from the object backwards. May throw std::bad_alloc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_set>
#include <vector>

#include "retention/heap_graph.h"
#include "retention/roots.h"

namespace cyclewatch::retention {

inline constexpr std::uint32_t kAnonymous = UINT32_MAX - 1;  // a root without a name

struct RawPath {
    std::uint32_t root = kAnonymous;   // index in Roots::all()
    std::vector<std::uint32_t> nodes;  // from the object that the root refers to, to the target
    // For each node: true if removing the reference to it (from the root, for the first one) makes
    // the target unreachable.
    std::vector<bool> frees;
};

struct SearchResult {
    std::vector<RawPath> paths;
    bool in_cycle = false;  // there is no path, but the target is part of a reference cycle
};

// Reuses its arrays, so that the cost of a search depends only on the objects it visits.
class PathFinder {
  public:
    // The arguments must outlive this object. Paths through the nodes of `ignored` do not count.
    PathFinder(const HeapGraph& graph,
               const Roots& roots,
               std::unordered_set<std::uint32_t> ignored = {});
    PathFinder(const PathFinder&) = delete;
    PathFinder& operator=(const PathFinder&) = delete;
    ~PathFinder();

    // At most `count` paths, the shortest first. The others share no object with earlier ones if
    // there are such paths; otherwise, they have a different root. Paths from an anonymous root are
    // found only if there are no others.
    [[nodiscard]] SearchResult find(std::uint32_t target, std::size_t count);

  private:
    class Search;
    const HeapGraph& graph_;
    const Roots& roots_;
    const std::unordered_set<std::uint32_t> ignored_;
    std::unique_ptr<Search> search_;
};

}  // namespace cyclewatch::retention
