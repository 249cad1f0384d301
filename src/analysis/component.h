// SPDX-License-Identifier: Apache-2.0
// A strongly connected component as a graph whose nodes are numbered from 0.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/collapsed_graph.h"
#include "analysis/retained_size.h"
#include "graph/adjacency.h"

namespace cyclewatch::analysis {

struct Component {
    std::vector<std::uint32_t> nodes;  // collapsed nodes
    std::vector<std::uint32_t> first;
    std::vector<std::uint32_t> targets;  // positions in `nodes`
    std::vector<std::uint32_t> edges;    // collapsed references, parallel to targets
    std::vector<std::uint32_t> holder;   // positions in `nodes`, parallel to targets
    std::vector<char> structural;        // parallel to targets
    // Per node: nonzero if the node owns memory that the collection frees, or refers to an object
    // outside the component from which such memory can be reached.
    std::vector<char> leads_out;
    std::vector<std::uint64_t> kept;  // per node: RetainedSize::kept_by()

    [[nodiscard]] graph::AdjacencyView view() const { return {first, targets}; }
    [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(nodes.size()); }
};

// Extracts components from the graph.
class ComponentExtractor {
  public:
    ComponentExtractor(const CollapsedGraph& graph,
                       const graph::StrongComponents& components,
                       const RetainedSize& retained);

    [[nodiscard]] Component extract(std::uint32_t component);

  private:
    const CollapsedGraph& graph_;
    const graph::StrongComponents& components_;
    const RetainedSize& retained_;
    graph::Rows members_;                  // collapsed nodes by component
    std::vector<std::uint32_t> position_;  // per collapsed node: its number in the component
};

// True if a cycle that retains memory remains once the references e with dead[e] != 0 are removed.
[[nodiscard]] bool still_holds(const Component& component, std::span<const char> dead);

}  // namespace cyclewatch::analysis
