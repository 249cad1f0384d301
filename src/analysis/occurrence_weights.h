// SPDX-License-Identifier: Apache-2.0
// Cycles that one component stands for: equal ones, and those that were counted, not captured,
// because a captured one has the same shape.
#pragma once

#include <vector>

#include "analysis/collapsed_graph.h"
#include "analysis/finding_builder.h"
#include "analysis/representatives.h"
#include "analysis/retained_size.h"
#include "analysis/strong_components.h"

namespace cyclewatch::analysis {

// Per component: what it counts for, copies and repeats of the cluster it lies in included. Of
// repeats the bytes are shared out among the cluster's components as the captured bytes are.
[[nodiscard]] std::vector<Weight> weigh_components(const CollapsedGraph& graph,
                                                   const StrongComponents& components,
                                                   const RetainedSize& held,
                                                   const Representatives& representatives);

}  // namespace cyclewatch::analysis
