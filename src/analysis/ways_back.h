// SPDX-License-Identifier: Apache-2.0
// Back references of a component, seen from one of its objects.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/component.h"

namespace cyclewatch::analysis {

// The references u -> v such that every path from `root` to u passes v: positions in the component,
// rising. Whatever the program reaches through `root` stays reachable without them, so all of them
// can be weak; what is left is acyclic if the component is reducible as seen from `root`.
// Empty if that takes more than a few passes.
[[nodiscard]] std::vector<std::uint32_t> ways_back(const Component& component, std::uint32_t root);

}  // namespace cyclewatch::analysis
