// SPDX-License-Identifier: Apache-2.0
// Whether weak references can replace the references of a candidate. Not every type supports weak
// references, and a weak reference to a bound method is dead at once.
#pragma once

#include <cstdint>

#include "analysis/candidate.h"

namespace cyclewatch::analysis {

// What the advice on a candidate must say if it suggests weak references.
struct WeakTargets {
    bool are_items = false;    // to the objects in the container, not to the container
    bool are_methods = false;  // at least one of them is a bound method
    EdgeIx edge = kNone;       // a reference to an object that does not support weak
                               // references; kNone: all of them do
};

[[nodiscard]] WeakTargets weak_targets_of(const CollapsedGraph& graph, const Candidate& candidate);

}  // namespace cyclewatch::analysis
