// SPDX-License-Identifier: Apache-2.0
// Loops that one component stands for: equal ones, and those that were counted, not captured,
// because a captured one has the same shape.
#pragma once

#include <vector>

#include "analysis/finding_builder.h"
#include "analysis/held_bytes.h"
#include "analysis/logical_graph.h"
#include "analysis/sample.h"
#include "analysis/strong_components.h"

namespace cyclewatch::analysis {

// Per component: what it counts for, copies and repeats of the cluster it lies in included. Of
// repeats the bytes are shared out among the cluster's components as the captured bytes are.
[[nodiscard]] std::vector<Weight> weigh_components(const LogicalGraph& graph,
                                                   const StrongComponents& components,
                                                   const HeldBytes& held,
                                                   const Sample& sample);

}  // namespace cyclewatch::analysis
