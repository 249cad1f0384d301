// SPDX-License-Identifier: Apache-2.0
// The number of cycles that one component represents: itself, and the cycles in clusters that
// capture only counted because they have the same shape (model::RepeatedShape).
#pragma once

#include <vector>

#include "analysis/collapsed_graph.h"
#include "analysis/finding_builder.h"
#include "analysis/retained_size.h"
#include "analysis/strong_components.h"
#include "model/observation.h"

namespace cyclewatch::analysis {

// Returns the weight of each component. The bytes of counted clusters are divided among the
// components of the captured cluster in proportion to their retained bytes.
[[nodiscard]] std::vector<Weight> weigh_components(const CollapsedGraph& graph,
                                                   const StrongComponents& components,
                                                   const RetainedSize& retained,
                                                   const model::Observation& observation);

}  // namespace cyclewatch::analysis
