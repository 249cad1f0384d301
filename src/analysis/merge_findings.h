// SPDX-License-Identifier: Apache-2.0
// Findings of one collection that are the same mistake become one.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/finding_builder.h"

namespace cyclewatch::analysis {

// Merges the builders whose findings share one of model::mistake_keys(), directly or through
// others. The first of them by model::ranks_before() stays, with the words of its own finding and
// the numbers of all. Returns the new index of each builder.
// Call once, after all occurrences were counted and before settle_shared_storages().
std::vector<std::uint32_t> merge_findings(std::vector<FindingBuilder>& builders);

}  // namespace cyclewatch::analysis
