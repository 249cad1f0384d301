// SPDX-License-Identifier: Apache-2.0
// Finds the back references of a component, relative to one of its objects.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/component.h"

namespace cyclewatch::analysis {

// With `root` as the entry of the graph, returns the references u -> v for which v dominates u, as
// positions in Component::edges in ascending order. Every node is reachable from `root` without
// these references, so all of them can be weak. The remaining graph is acyclic if the component is
// reducible with `root` as its entry. Returns no references if computing the dominator tree takes
// more than a few passes. Ignores dead references (dead[e] != 0). Also ignores references from
// nodes that can be reached from `root` only through dead references.
[[nodiscard]] std::vector<std::uint32_t> ways_back(const Component& component,
                                                   std::uint32_t root,
                                                   std::span<const char> dead = {});

// True if every node is reachable from `root` without the references marked in `dead`.
[[nodiscard]] bool reaches_all(const Component& component,
                               std::uint32_t root,
                               std::span<const char> dead);

}  // namespace cyclewatch::analysis
