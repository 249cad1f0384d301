// SPDX-License-Identifier: Apache-2.0
// Finds unreachable objects without a collection. Read-only: frees and moves no object, runs no
// finalizer and no weakref callback, and leaves the collector's counts and statistics unchanged.
//
// Uses the collector's own method: subtracts the references between the candidates from their
// reference counts. Objects reachable from one with a positive remainder are alive, the others are
// unreachable. References that the collector does not see, such as those from C variables, keep an
// object alive. Bacon, Rajan, "Concurrent Cycle Collection in Reference Counted Systems" (2001), as
// described in CPython's garbage collector design.
#pragma once

#include <vector>

#include "collector/tracked_objects.h"
#include "collector/unreachable_set.h"
#include "python/references.h"

namespace cyclewatch::collector {

struct HeapScan {
    UnreachableSet collectable;  // what gc.collect(generation) would find unreachable
    // What it would find in addition after gc.unfreeze(): unreachable frozen objects and everything
    // reachable only from them. No collection frees these.
    UnreachableSet frozen;
    // On free-threaded builds: references to all of them, so that no other thread frees them. A
    // collection that runs at the same time leaves them to the next one.
    std::vector<python::OwnedRef> held;
};

// True if the collector's lists can be read: its version was reviewed. CYCLEWATCH_STRATEGY can
// declare it unknown ("unproven", "heap-scan").
[[nodiscard]] bool collector_is_known() noexcept;

// Locates the collector's generations in the interpreter's state. Idempotent. Failure is harmless:
// automatic collections may then start at slightly different times, and scans use the public API.
// RUNS PYTHON: never.
void find_generations() noexcept;

// Fills `scan`. The candidates are the objects in `scope`; references from all other objects keep
// an object alive. If the collector's lists cannot be read, the candidates are those of
// gc.get_objects(), which never lists frozen objects. Returns false if out of memory or if
// gc.get_objects() fails; leaves no Python error. About as expensive as gc.collect(generation).
// The result is valid as long as no Python code runs. On free-threaded builds, stops the other
// threads, ignores the generation and frozen objects, takes about three times as long, and also
// returns false if other threads keep creating objects. REQUIRES: GIL held.
// RUNS PYTHON: never.
[[nodiscard]] bool scan_heap(HeapScope scope, HeapScan& scan) noexcept;

// Frees the memory that the last scan kept for the next one. REQUIRES: GIL held.
void release_scan_memory() noexcept;

}  // namespace cyclewatch::collector
