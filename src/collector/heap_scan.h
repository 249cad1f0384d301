// SPDX-License-Identifier: Apache-2.0
// Finds unreachable objects without a collection. A scan is read-only. It does not free or move
// objects, does not run finalizers or weakref callbacks, and leaves the collector's counts and
// statistics unchanged.
//
// The method is the collector's own. The references between the candidates are subtracted from the
// reference counts of the candidates. An object is alive if it can be reached from an object with a
// positive remainder; all other candidates are unreachable. References that the collector does not
// see, such as those from C variables, keep an object alive. Bacon, Rajan, "Concurrent Cycle
// Collection in Reference Counted Systems" (2001), as described in CPython's garbage collector
// design.
#pragma once

#include <vector>

#include "collector/tracked_objects.h"
#include "collector/unreachable_set.h"
#include "python/references.h"

namespace cyclewatch::collector {

struct HeapScan {
    UnreachableSet collectable;  // what gc.collect(generation) would find unreachable
    // What gc.collect() would find in addition after gc.unfreeze(): unreachable frozen objects and
    // everything reachable only from them. No collection frees these.
    UnreachableSet frozen;
    // On free-threaded builds: strong references to all of these objects, so that no other thread
    // frees them. A concurrent collection therefore cannot free the objects either, but a later
    // collection can.
    std::vector<python::OwnedRef> held;
};

// True if the collector's lists can be read, because this version of the collector was reviewed.
// CYCLEWATCH_STRATEGY can declare the version unknown ("unproven", "heap-scan").
[[nodiscard]] bool collector_is_known() noexcept;

// Locates the collector's generations in the interpreter's state. Idempotent. Failure is harmless.
// Automatic collections may then start at slightly different times, and scans use the public API.
// RUNS PYTHON: never.
void find_generations() noexcept;

// Fills `scan`. The candidates are the objects in `scope`; references from all other objects keep
// an object alive. If the collector's lists cannot be read, the candidates are those of
// gc.get_objects(), which never lists frozen objects. Returns false if out of memory or if
// gc.get_objects() fails; leaves no Python error. About as expensive as gc.collect(generation). The
// result is valid as long as no Python code runs. On free-threaded builds, a scan stops the other
// threads, ignores the generation and frozen objects, and takes about three times as long. It also
// returns false if other threads keep creating objects. REQUIRES: GIL held. RUNS PYTHON: never.
[[nodiscard]] bool scan_heap(HeapScope scope, HeapScan& scan) noexcept;

// Frees the memory that the last scan kept for the next one. REQUIRES: GIL held.
void release_scan_memory() noexcept;

}  // namespace cyclewatch::collector
