// SPDX-License-Identifier: Apache-2.0
// Chooses the cycle that represents a component in the report. Method: layered breadth-first
// search.
#pragma once

#include <vector>

#include "analysis/component.h"

namespace cyclewatch::analysis {

// In order; empty if there is no cycle.
using Cycle = std::vector<InnerEdgeIx>;

// The references of `cycle` in the collapsed graph.
[[nodiscard]] std::vector<EdgeIx> collapsed_edges(const Component& component, const Cycle& cycle);

// Of the cycles through `start` that have the fewest structural references, returns a shortest one.
// References in `dead` are ignored.
[[nodiscard]] Cycle shortest_cycle(const Component& component,
                                   MemberIx start,
                                   const IndexSet<InnerEdgeIx>& dead = {});

// A shortest cycle that contains reference `e`, starting at the holder of `e`.
[[nodiscard]] Cycle shortest_cycle_through(const Component& component, InnerEdgeIx e);

// A shortest cycle that starts at the node that retains the most device bytes. If possible, the
// cycle contains neither structural references nor an attribute that refers to its own object. Does
// not depend on the order of nodes. References in `removed` are ignored.
[[nodiscard]] Cycle choose_cycle(const Component& component,
                                 const IndexSet<InnerEdgeIx>& removed = {});

}  // namespace cyclewatch::analysis
