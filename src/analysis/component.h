// SPDX-License-Identifier: Apache-2.0
// One component with a loop, as a small graph of its own: its nodes are numbered from 0.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/adjacency.h"
#include "analysis/held_bytes.h"
#include "analysis/logical_graph.h"

namespace cyclewatch::analysis {

struct Component {
    std::vector<std::uint32_t> nodes;  // logical nodes
    std::vector<std::uint32_t> first;
    std::vector<std::uint32_t> targets;  // positions in `nodes`
    std::vector<std::uint32_t> edges;    // logical references, parallel to targets
    std::vector<std::uint32_t> holder;   // positions in `nodes`, parallel to targets
    std::vector<char> structural;        // parallel to targets
    std::vector<char> leads_out;         // per node: is an owner, or refers out towards one
    std::vector<std::uint64_t> kept;     // per node: HeldBytes::kept_by

    [[nodiscard]] AdjacencyView view() const { return {first, targets}; }
    [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(nodes.size()); }
};

// Lists the members of every component once, and cuts components out of the graph.
class ComponentCutter {
  public:
    ComponentCutter(const LogicalGraph& graph,
                    const StrongComponents& components,
                    const HeldBytes& held,
                    std::span<const char> is_owner);

    [[nodiscard]] Component cut_out(std::uint32_t component);

  private:
    const LogicalGraph& graph_;
    const StrongComponents& components_;
    const HeldBytes& held_;
    std::span<const char> is_owner_;
    Rows<> members_;                       // logical nodes by component
    std::vector<std::uint32_t> position_;  // per logical node; valid inside its own component
};

// True if, without the references marked in `dead` (per edge), a loop remains through which an
// owner is held.
[[nodiscard]] bool still_holds(const Component& component, std::span<const char> dead);

}  // namespace cyclewatch::analysis
