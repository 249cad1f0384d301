// SPDX-License-Identifier: Apache-2.0
// Selects the part of the graph that is drawn for a finding, namely its cycle and the paths to the
// largest owners.
#pragma once

#include <cstdint>
#include <span>

#include "analysis/collapsed_graph.h"
#include "analysis/owner_walk.h"
#include "model/finding.h"
#include "model/observation.h"

namespace cyclewatch::analysis {

// The items of the cycle come first, in order. If the cycle is long, one item represents its middle
// part. `cut` contains the references in `graph` to draw as cut. `walk` is the owner walk that
// starts from `cycle`.
[[nodiscard]] model::Picture make_picture(const CollapsedGraph& graph,
                                          const model::Observation& observation,
                                          std::span<const EdgeIx> cycle,
                                          std::span<const EdgeIx> cut,
                                          const OwnerWalk& walk);

}  // namespace cyclewatch::analysis
