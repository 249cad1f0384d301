// SPDX-License-Identifier: Apache-2.0
// Merges findings of one collection that have the same cause.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/finding_builder.h"

namespace cyclewatch::analysis {

// Merges builders whose findings share a model::mistake_keys() entry, directly or transitively
// (union-find). The builder that comes first in the order of model::ranks_before() absorbs the
// others and keeps its description. Returns the new index of each builder. Must be called once,
// after all occurrences have been counted and before attribute_shared_storages().
std::vector<std::uint32_t> merge_findings(std::vector<FindingBuilder>& builders);

}  // namespace cyclewatch::analysis
