// SPDX-License-Identifier: Apache-2.0
// Selects the part of the graph that is drawn for a finding: its cycle and the paths to the largest
// owners.
#pragma once

#include <cstdint>
#include <span>

#include "analysis/collapsed_graph.h"
#include "analysis/owner_walk.h"
#include "model/finding.h"
#include "model/observation.h"

namespace cyclewatch::analysis {

// Items of the cycle come first, in order; in a long cycle, one item stands for the middle. `cut`:
// collapsed references to be drawn as cut. `walk`: the owner walk of `cycle`.
[[nodiscard]] model::Picture make_picture(const CollapsedGraph& graph,
                                          const model::Observation& observation,
                                          std::span<const std::uint32_t> cycle,
                                          std::span<const std::uint32_t> cut,
                                          const OwnerWalk& walk);

}  // namespace cyclewatch::analysis
