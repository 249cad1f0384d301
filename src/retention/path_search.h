// SPDX-License-Identifier: Apache-2.0
// Searches for the shortest paths from roots to one object, and for the references that all paths
// share. The search is breadth-first and follows references backwards from the object. May throw
// std::bad_alloc.
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
    // For each node: true if removing the reference to the node makes the target unreachable. The
    // root holds the reference to the first node.
    std::vector<bool> frees;
};

struct SearchResult {
    std::vector<RawPath> paths;
    bool in_cycle = false;  // there is no path, but the target is part of a reference cycle
};

// Limits the total number of objects that optional searches visit: searches for further paths and
// for the references that all paths share. The first 100 objects of each search are not counted.
class VisitLimit {
  public:
    explicit VisitLimit(std::size_t total) noexcept : left_(total) {}
    void begin_search() noexcept { own_ = 0; }
    // Returns false if the search must end.
    [[nodiscard]] bool visit() noexcept {
        constexpr std::size_t kFree = 100;
        if (own_ < kFree) {
            ++own_;
            return true;
        }
        left_ -= left_ > 0 ? 1 : 0;
        return left_ > 0;
    }

  private:
    std::size_t left_;
    std::size_t own_ = 0;
};

class NodeSet {
  public:
    explicit NodeSet(std::size_t nodes) : contains_(nodes) {}
    // Linear in the number of nodes in the set.
    void clear() noexcept {
        for (const std::uint32_t node : nodes_) {
            contains_[node] = false;
        }
        nodes_.clear();
    }
    // Returns false if the set already contains the node.
    bool insert(std::uint32_t node) {
        if (contains_[node]) {
            return false;
        }
        contains_[node] = true;
        nodes_.push_back(node);
        return true;
    }

  private:
    std::vector<bool> contains_;
    std::vector<std::uint32_t> nodes_;
};

// Finds paths to targets, one target at a time. Reuses its arrays, so that the cost of a search
// depends only on the number of objects it visits.
class PathFinder {
  public:
    // The arguments must outlive this object. Paths through nodes in `ignored` are not returned. A
    // search that exceeds `limit` stops: a search for further paths then returns no more paths, and
    // a search for shared references sets no more elements of RawPath::frees to true.
    PathFinder(const HeapGraph& graph,
               const Roots& roots,
               VisitLimit limit,
               std::unordered_set<std::uint32_t> ignored = {});
    PathFinder(const PathFinder&) = delete;
    PathFinder& operator=(const PathFinder&) = delete;
    ~PathFinder();

    // Returns at most `count` paths, the shortest first. If possible, each further path shares no
    // object with earlier ones, except a namespace; otherwise, no reference, if removing none of
    // these frees the target; otherwise, it begins at a different root or namespace entry. Paths
    // from an anonymous root are returned only if there are no other paths; a path from a function
    // that only C code holds is preferred to a shorter one. `avoided`: indexes of roots at which a
    // path begins only if there is no other path.
    [[nodiscard]] SearchResult find(std::uint32_t target,
                                    std::size_t count,
                                    const std::unordered_set<std::uint32_t>& avoided = {});

  private:
    class Search;
    const HeapGraph& graph_;
    const Roots& roots_;
    VisitLimit limit_;
    NodeSet inside_;  // of the search for shared references
    const std::unordered_set<std::uint32_t> ignored_;
    std::unique_ptr<Search> search_;
};

}  // namespace cyclewatch::retention
