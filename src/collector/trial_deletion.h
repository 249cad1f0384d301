// SPDX-License-Identifier: Apache-2.0
// The slower strategy, for interpreters on which the ride-along is not passed: finds the same
// garbage from public API only (gc.get_objects(), reference counts, tp_traverse), by the
// collector's own method: subtract from each object's count the references that come from
// inside the set; what is then reachable from a positive count lives, the rest is garbage.
//
// Method: Bacon, Rajan, "Concurrent Cycle Collection in Reference Counted Systems" (2001), in
// the form CPython documents in its garbage collector notes.
#pragma once

#include "collector/unreachable_set.h"

namespace cyclewatch::collector {

// Fills `unreachable` with the garbage among the objects of `generation` and all younger ones.
// False if memory ran out or gc.get_objects() failed; no Python error is left.
// REQUIRES: GIL held, at "start" of a collection. RUNS PYTHON: never. Time: about that of the
// collection itself, over every tracked object of those generations.
[[nodiscard]] bool find_garbage_by_trial_deletion(int generation,
                                                  UnreachableSet& unreachable) noexcept;

}  // namespace cyclewatch::collector
