// SPDX-License-Identifier: Apache-2.0
// Back references of a component, relative to one of its objects.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/component.h"

namespace cyclewatch::analysis {

// The references u -> v such that v dominates u, seen from `root`: positions in the component,
// ascending. Every node stays reachable from `root` without them, so all of them can be weak. The
// rest of the component is acyclic if it is reducible from `root`. Empty if the dominator tree
// takes more than a few passes.
[[nodiscard]] std::vector<std::uint32_t> ways_back(const Component& component, std::uint32_t root);

// True if every node is reachable from `root` without the references marked in `dead`.
[[nodiscard]] bool reaches_all(const Component& component,
                               std::uint32_t root,
                               std::span<const char> dead);

}  // namespace cyclewatch::analysis
