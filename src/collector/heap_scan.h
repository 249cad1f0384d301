// SPDX-License-Identifier: Apache-2.0
// Finds unreachable objects without a collection. A scan is read-only. It does not free or move
// objects, does not run finalizers or weakref callbacks, and leaves the collector's counts and
// statistics unchanged.
//
// The algorithm is the same as in CPython's collector. The references between the candidates are
// subtracted from the reference counts of the candidates. An object is alive if it can be reached
// from an object whose remaining count is positive; all other candidates are unreachable.
// References that the collector does not see, such as those from C variables, keep an object alive.
// See Bacon and Rajan, "Concurrent Cycle Collection in Reference Counted Systems" (2001), and the
// garbage collector design in CPython's internal documentation.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "collector/hidden_references.h"
#include "collector/tracked_objects.h"
#include "collector/unreachable_set.h"
#include "python/references.h"

namespace cyclewatch::collector {

struct HeapScan {
    UnreachableSet collectable;  // what gc.collect(generation) would find unreachable
    // The objects that gc.collect() would find only after gc.unfreeze(): unreachable frozen
    // objects, and the objects that are reachable only from them. No collection frees them.
    UnreachableSet frozen;
    // On free-threaded builds: strong references to all objects in `collectable`, so that neither
    // other threads nor a concurrent collection can free them. A later collection can.
    std::vector<python::OwnedRef> held;
};

// True if the running interpreter's collector has been reviewed. Its generation lists are read only
// in this case. Always returns false if CYCLEWATCH_STRATEGY is "heap-scan".
[[nodiscard]] bool collector_is_known() noexcept;

// Locates the collector's generations in the interpreter's state. Idempotent. Failure is harmless:
// automatic collections may then start at slightly different times, and scans use gc.get_objects()
// instead. RUNS PYTHON: never.
void find_generations() noexcept;

// Fills `scan`. The candidates are the objects in `scope`; references from all other objects keep a
// candidate alive. If the collector's lists cannot be read, the candidates are the objects that
// gc.get_objects() returns, which never include frozen objects. Returns false if out of memory or
// if gc.get_objects() fails; leaves no Python error. About as expensive as gc.collect(generation).
// The result is valid as long as no Python code runs. On free-threaded builds, a scan stops the
// other threads and takes about three times as long as with a GIL. A free-threaded scan includes
// all generations but no frozen objects, and also returns false if other threads keep creating
// objects. REQUIRES: GIL held. RUNS PYTHON: never.
//
// `hidden`: counted as references of their holders; may be null. Those of NumPy arrays are added
// (add_array_references()). With them, `scan.collectable` also contains unreachable objects that no
// collection would find, and the frozen ones.
[[nodiscard]] bool scan_heap(HeapScope scope,
                             HeapScan& scan,
                             HiddenReferences* hidden = nullptr) noexcept;

// Calls visit(object) for each object of the last scan that is alive, but cannot be reached from
// `roots`. Returns false if the memory of that scan was not kept. REQUIRES: GIL held; the last scan
// succeeded, its `hidden` still exists, and no Python code has run since. RUNS PYTHON: never. May
// throw std::bad_alloc. Much cheaper than another scan.
[[nodiscard]] bool visit_reached_otherwise(std::span<PyObject* const> roots,
                                           const std::function<void(PyObject*)>& visit);

// Frees the memory that the last scan kept for the next one. REQUIRES: GIL held.
void release_scan_memory() noexcept;

}  // namespace cyclewatch::collector
