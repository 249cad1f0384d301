// SPDX-License-Identifier: Apache-2.0
// Finds the objects that are unreachable and that no collection can free, because a cycle leads
// through references that tp_traverse does not visit.
#pragma once

#include <span>
#include <vector>

#include "collector/heap_scan.h"
#include "collector/hidden_references.h"
#include "collector/unreachable_set.h"

namespace cyclewatch::collector {

// Fills `found` with these objects, and with the objects that only they keep alive. Omits the
// objects that collections would free, after any number of them. `hidden` must be sorted, and must
// outlive `found`. `unreachable.collectable`: all unreachable objects, whether or not a collection
// would free them. Adds the references of NumPy arrays to `hidden`. Returns false if out of memory
// or if the objects cannot be listed. REQUIRES: GIL held, a build with a GIL. RUNS PYTHON: as
// add_array_references().
[[nodiscard]] bool find_never_freed(HiddenReferences& hidden,
                                    HeapScan& unreachable,
                                    UnreachableSet& found) noexcept;

// Those of `objects` that no collection would free, if no other objects referred to them. May throw
// std::bad_alloc. REQUIRES and RUNS PYTHON: as above.
[[nodiscard]] std::vector<PyObject*> never_freed_among(std::span<PyObject* const> objects,
                                                       const HiddenReferences& hidden);

}  // namespace cyclewatch::collector
