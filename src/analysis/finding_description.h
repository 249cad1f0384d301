// SPDX-License-Identifier: Apache-2.0
// Describes one cycle: its references, the cut, the advice and the picture.
#pragma once

#include <cstdint>

#include "analysis/component.h"
#include "analysis/owner_walk.h"
#include "analysis/retained_size.h"
#include "analysis/shortest_cycle.h"
#include "model/finding.h"
#include "model/observation.h"

namespace cyclewatch::analysis {

// The finding for `cycle` without signature, counts, bytes and owners. `walk` is the owner walk
// that starts from `cycle`. `work_left`: see choose_cut().
[[nodiscard]] model::Finding describe(const Component& component,
                                      const Cycle& cycle,
                                      const RetainedSize& retained,
                                      const model::Observation& observation,
                                      const OwnerWalk& walk,
                                      std::uint64_t& work_left);

}  // namespace cyclewatch::analysis
