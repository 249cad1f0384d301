// SPDX-License-Identifier: Apache-2.0
// Interface for observing a collection: its start, its unreachable set and its end.
// REQUIRES: GIL held, on the collecting thread. RUNS PYTHON: only readers passed to
// register_owner().
#pragma once

#include <cstdint>

#include "collector/unreachable_set.h"

namespace cyclewatch::collector {

// The reason why the unreachable set of a collection could not be read.
enum class Miss : std::uint8_t {
    none,
    not_armed,      // the canary's weak reference could not be created: out of memory
    canary_held,    // other code held a reference to the canary, so it was reachable
    not_listed,     // the callback was called outside a sweep
    broken_list,    // the list has an unexpected structure; the hook switches to scanning the heap
    out_of_memory,  // the set could not be stored
};

// The outcome of a finished collection: the miss, if any, and the collector's statistics.
struct CollectionOutcome {
    Miss miss = Miss::none;
    std::uint64_t reclaimed = 0;  // objects
    std::uint64_t examined = 0;   // objects; 0: unknown (before CPython 3.15)
    double seconds = 0;           // 0: unknown (before CPython 3.15)
};

// The methods are called in the order in which they are declared. Calls are never nested.
class CollectionListener {
  public:
    virtual ~CollectionListener() = default;
    // Called before the collector examines any objects. May allocate.
    virtual void on_start(int generation) noexcept = 0;
    // Returns false to skip on_unreachable() for this collection, which saves the time needed to
    // list the unreachable objects.
    [[nodiscard]] virtual bool wants_unreachable() noexcept { return true; }
    // Called at most once, while all unreachable objects are still intact. Not called if the
    // unreachable set could not be read.
    virtual void on_unreachable(const UnreachableSet& unreachable) noexcept = 0;
    // Called after the collector has freed the objects and run all finalizers.
    virtual void on_stop(const CollectionOutcome& outcome) noexcept = 0;
};

}  // namespace cyclewatch::collector
