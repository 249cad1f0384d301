// SPDX-License-Identifier: Apache-2.0
// Finds the back references of a component, relative to one of its objects.
#pragma once

#include <vector>

#include "analysis/component.h"

namespace cyclewatch::analysis {

// With `root` as the entry of the graph, returns the references u -> v for which v dominates u, in
// ascending order. Every node is reachable from `root` without these references, so all of them can
// be weak. The remaining graph is acyclic if the component is reducible with `root` as its entry.
// Returns no references if computing the dominator tree takes more than a few passes. Ignores the
// references in `dead`, and references from nodes that can be reached from `root` only through
// them.
[[nodiscard]] std::vector<InnerEdgeIx> ways_back(const Component& component,
                                                 MemberIx root,
                                                 const IndexSet<InnerEdgeIx>& dead = {});

// True if every node is reachable from `root` without the references in `dead`.
[[nodiscard]] bool reaches_all(const Component& component,
                               MemberIx root,
                               const IndexSet<InnerEdgeIx>& dead);

}  // namespace cyclewatch::analysis
