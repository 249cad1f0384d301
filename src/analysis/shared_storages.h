// SPDX-License-Identifier: Apache-2.0
// Handles storages that are reachable from several findings. Counts the findings that share a
// storage, and attributes the storage's bytes to one of these findings, so that sums over all
// findings count each storage once.
#pragma once

#include "analysis/finding_builder.h"
#include "analysis/retained_size.h"
#include "model/observation.h"

namespace cyclewatch::analysis {

// Completes the byte counts of all findings of one collection; call it once, after all occurrences
// have been counted. `builder_of` is kNone for components without a finding.
//
// A storage that is reachable only from cycles of one finding is retained by that finding. If
// several findings can reach a storage, its bytes are attributed to the finding that retains the
// storage. If no finding retains the storage, its bytes are attributed to the first finding that
// can reach it, in the order of model::ranks_before(). Sets Finding::shared_with for all findings.
void attribute_shared_storages(Builders& builders,
                               const IndexedVector<ComponentIx, FindingIx>& builder_of,
                               const RetainedSize& retained,
                               const model::Observation& observation);

}  // namespace cyclewatch::analysis
