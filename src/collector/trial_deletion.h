// SPDX-License-Identifier: Apache-2.0
// Determines the unreachable set through the public API only (gc.get_objects(), reference counts,
// tp_traverse). Used on CPython versions on which the ride-along does not work.
//
// Uses the collector's own method: subtracts the references between the candidates from their
// reference counts. Objects reachable from one with a positive remainder are alive, the others are
// garbage. Bacon, Rajan, "Concurrent Cycle Collection in Reference Counted Systems" (2001), as
// described in CPython's garbage collector design.
#pragma once

#include "collector/unreachable_set.h"

namespace cyclewatch::collector {

// Fills `unreachable` with the garbage among the objects of `generation` and younger ones. Returns
// false if out of memory or if gc.get_objects() fails; leaves no Python error.
// REQUIRES: GIL held, at "start" of a collection. RUNS PYTHON: never. Takes about as long as the
// collection itself.
[[nodiscard]] bool find_garbage_by_trial_deletion(int generation,
                                                  UnreachableSet& unreachable) noexcept;

}  // namespace cyclewatch::collector
