// SPDX-License-Identifier: Apache-2.0
// Handles storages that are reachable from several findings. Counts the findings that share a
// storage, and attributes its bytes to one of them, so that sums over all findings count each
// storage once.
#pragma once

#include <cstdint>
#include <span>

#include "analysis/finding_builder.h"
#include "analysis/retained_size.h"
#include "model/observation.h"

namespace cyclewatch::analysis {

// Completes the byte counts of all findings of one collection; call it once, after all occurrences
// have been counted. `builder_of`: per component, the index of its finding in `builders`, or kNone.
//
// A storage that is reachable only from cycles of one finding is retained by that finding. The
// bytes of any other shared storage are attributed to the finding that retains it, or otherwise to
// the first of its findings by model::ranks_before(). Sets Finding::shared_with for all findings.
void attribute_shared_storages(std::span<FindingBuilder> builders,
                               std::span<const std::uint32_t> builder_of,
                               const RetainedSize& retained,
                               const model::Observation& observation);

}  // namespace cyclewatch::analysis
