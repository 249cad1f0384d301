// SPDX-License-Identifier: Apache-2.0
// Lists the owners that a collection would not free.
#pragma once

#include <vector>

#include "device/owner_registry.h"
#include "model/finding.h"

namespace cyclewatch::watch {

// The owners that the collector tracks, except unreachable ones; those with equal type, device,
// size, shape and dtype are one element. A storage is counted once, for the first owner found.
// Frozen objects are included if the collector's lists can be read. About as expensive as a scan of
// the heap. May throw std::bad_alloc. REQUIRES: GIL held, outside of a collection. RUNS PYTHON:
// user code, in the readers of registered types only.
[[nodiscard]] std::vector<model::OwnerSummary> live_owners(device::OwnerRegistry& registry);

}  // namespace cyclewatch::watch
