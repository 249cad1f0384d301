// SPDX-License-Identifier: Apache-2.0
// What the collector room tells the rest: one collection, in three steps, always in this order
// and never nested. REQUIRES: GIL held, on whichever thread collects. RUNS PYTHON: never.
#pragma once

#include <cstdint>

#include "collector/unreachable_set.h"

namespace cyclewatch::collector {

// Why a collection's unreachable set could not be seen.
enum class Miss : std::uint8_t {
    none,
    not_armed,      // the weakref could not be made: out of memory
    canary_held,    // somebody kept the canary, which was no garbage for that
    not_listed,     // the callback ran, but outside a sweep
    broken_list,    // the list's shape was not as it must be; the ride-along is switched off
    out_of_memory,  // the walk could not be stored
};

class CollectionListener {
  public:
    virtual ~CollectionListener() = default;
    // Before the collector looks at anything. May allocate; may take its time.
    virtual void on_start(int generation) noexcept = 0;
    // The unreachable set, all objects intact. At most once, not at all for an empty sweep.
    virtual void on_unreachable(const UnreachableSet& unreachable) noexcept = 0;
    // After the sweep and every finalizer of the program.
    virtual void on_stop(Miss miss) noexcept = 0;
};

}  // namespace cyclewatch::collector
