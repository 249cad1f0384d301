// SPDX-License-Identifier: Apache-2.0
// The addresses of the storages that a search found unreachable, for Report::addresses.
//
// REQUIRES (everything here): GIL held. RUNS PYTHON: never. May throw std::bad_alloc.
#pragma once

#include <vector>

#include "model/finding.h"
#include "model/observation.h"
#include "report/address_list.h"
#include "watch/captured_collection.h"
#include "watch/known_findings.h"
#include "watch/watch.h"

namespace cyclewatch::watch {

// For KnownFindings::add(): empty if the findings need no addresses. The signatures are those of
// `findings`.
[[nodiscard]] StorageSignatures storage_signatures(const CapturedCollection& captured,
                                                   const std::vector<model::Finding>& findings);

// At most report::kMaxAddresses storages on CUDA devices, of `findings`, which are those of
// `watch`. Leaves out the storages whose finding is not certain. Call this after check_freed() or,
// for a scan, after check_references().
[[nodiscard]] std::vector<report::DeadStorage> dead_storages(
    const CapturedCollection& captured,
    const std::vector<model::Finding>& findings,
    const Watch& watch,
    const model::CollectionRecord& record);

}  // namespace cyclewatch::watch
