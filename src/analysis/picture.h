// SPDX-License-Identifier: Apache-2.0
// What is drawn of a finding: its cycle, and the ways to the largest owners.
#pragma once

#include <cstdint>
#include <span>

#include "analysis/collapsed_graph.h"
#include "analysis/owner_walk.h"
#include "analysis/representatives.h"
#include "model/finding.h"

namespace cyclewatch::analysis {

inline constexpr std::size_t kMostItems = 40;
// As many as still make a ring.
inline constexpr std::size_t kMostCycleItems = 10;

// Cycle items first, in cycle order. `cut`: collapsed references drawn as cut. `walk` has just
// walked `cycle`.
[[nodiscard]] model::Picture make_picture(const CollapsedGraph& graph,
                                          const Representatives& representatives,
                                          std::span<const std::uint32_t> cycle,
                                          std::span<const std::uint32_t> cut,
                                          const OwnerWalk& walk);

}  // namespace cyclewatch::analysis
