// SPDX-License-Identifier: Apache-2.0
// Chooses the cycle that represents a component in the report. Method: layered breadth-first
// search.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/component.h"

namespace cyclewatch::analysis {

// Positions in Component::edges, in order; empty if there is no cycle.
using Cycle = std::vector<std::uint32_t>;

// The references of `cycle` in the collapsed graph.
[[nodiscard]] std::vector<std::uint32_t> collapsed_edges(const Component& component,
                                                         const Cycle& cycle);

// Of the cycles through `start` that have the fewest structural references, returns a shortest one.
// References e with dead[e] != 0 are ignored.
[[nodiscard]] Cycle shortest_cycle(const Component& component,
                                   std::uint32_t start,
                                   std::span<const char> dead = {});

// A shortest cycle that contains reference `e`, starting at the holder of `e`.
[[nodiscard]] Cycle shortest_cycle_through(const Component& component, std::uint32_t e);

// A shortest cycle that starts at the node that retains the most device bytes. If possible, the
// cycle contains neither structural references nor an attribute that refers to its own object. Does
// not depend on the order of nodes.
[[nodiscard]] Cycle choose_cycle(const CollapsedGraph& graph, const Component& component);

}  // namespace cyclewatch::analysis
