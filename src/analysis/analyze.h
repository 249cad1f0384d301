// SPDX-License-Identifier: Apache-2.0
// The entry point of the analysis: computes the findings of one observation. A pure function that
// needs no Python; any thread.
#pragma once

#include <vector>

#include "model/finding.h"
#include "model/observation.h"

namespace cyclewatch::analysis {

// Returns one finding per signature, in the order of ranks_before(). Every strongly connected
// component with a cycle from which a released storage can be reached is an occurrence of a
// finding. Owners that no cycle leads to, and storages that a live object still holds, yield no
// finding. May throw std::bad_alloc.
[[nodiscard]] std::vector<model::Finding> analyze(const model::Observation& observation);

}  // namespace cyclewatch::analysis
