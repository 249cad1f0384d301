// SPDX-License-Identifier: Apache-2.0
// The entry point of the analysis, which computes the findings of one observation. A pure function
// that does not use Python and may be called on any thread.
#pragma once

#include <vector>

#include "model/finding.h"
#include "model/observation.h"

namespace cyclewatch::analysis {

// Returns one finding per signature, in the order of ranks_before(). A strongly connected component
// is an occurrence of a finding if it has a cycle from which a released storage can be reached.
// Owners that cannot be reached from a cycle, and storages to which a live object still refers, do
// not yield findings. `collectable`: a collection can free these objects, so advice may suggest
// one. May throw std::bad_alloc.
[[nodiscard]] std::vector<model::Finding> analyze(const model::Observation& observation,
                                                  bool collectable = true);

}  // namespace cyclewatch::analysis
