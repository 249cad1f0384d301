// SPDX-License-Identifier: Apache-2.0
// The room's only door: from one observation to its findings. Pure; any thread; no Python.
#pragma once

#include <vector>

#include "model/finding.h"
#include "model/observation.h"

namespace cyclewatch::analysis {

// One finding per strongly connected component that an owner hangs off, findings of equal
// signature merged (occurrences, bytes and owners added up), in the order of ranks_before().
// Owners with no cycle above them in the graph yield nothing, and neither does a component that
// leads only to storages that something alive still holds. May throw std::bad_alloc.
[[nodiscard]] std::vector<model::Finding> analyze(const model::Observation& observation);

}  // namespace cyclewatch::analysis
