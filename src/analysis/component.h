// SPDX-License-Identifier: Apache-2.0
// One component with a cycle, as a small graph of its own: its nodes are numbered from 0.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/adjacency.h"
#include "analysis/collapsed_graph.h"
#include "analysis/retained_size.h"

namespace cyclewatch::analysis {

struct Component {
    std::vector<std::uint32_t> nodes;  // collapsed nodes
    std::vector<std::uint32_t> first;
    std::vector<std::uint32_t> targets;  // positions in `nodes`
    std::vector<std::uint32_t> edges;    // collapsed references, parallel to targets
    std::vector<std::uint32_t> holder;   // positions in `nodes`, parallel to targets
    std::vector<char> structural;        // parallel to targets
    std::vector<char> leads_out;         // per node: is an owner, or refers out towards one
    std::vector<std::uint64_t> kept;     // per node: RetainedSize::kept_by

    [[nodiscard]] AdjacencyView view() const { return {first, targets}; }
    [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(nodes.size()); }
};

// Lists the members of every component once, and cuts components out of the graph.
class ComponentCutter {
  public:
    ComponentCutter(const CollapsedGraph& graph,
                    const StrongComponents& components,
                    const RetainedSize& held,
                    std::span<const char> is_owner);

    [[nodiscard]] Component cut_out(std::uint32_t component);

  private:
    const CollapsedGraph& graph_;
    const StrongComponents& components_;
    const RetainedSize& held_;
    std::span<const char> is_owner_;
    Rows<> members_;                       // collapsed nodes by component
    std::vector<std::uint32_t> position_;  // per collapsed node; valid inside its own component
};

// True if, without the references marked in `dead` (per edge), a cycle remains through which an
// owner is held.
[[nodiscard]] bool still_holds(const Component& component, std::span<const char> dead);

}  // namespace cyclewatch::analysis
