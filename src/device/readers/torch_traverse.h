// SPDX-License-Identifier: Apache-2.0
// Compares the references of torch's tensors and autograd nodes with those that their tp_traverse
// visits.
//
// REQUIRES (everything here): GIL held, `hidden` is sorted. RUNS PYTHON: never. May throw
// std::bad_alloc.
#pragma once

#include "collector/hidden_references.h"

namespace cyclewatch::device {

// Sets `is_visited` of the references that tp_traverse visits. They depend on reference counts,
// which change when torch creates Python objects: call this after the last one was created.
void mark_visited(collector::HiddenReferences& hidden);

// tp_traverse of an AccumulateGrad node visits the hooks of its leaf, which only the leaf owns.
// Changes the counts of the hooks, so that the search does not count this reference.
// REQUIRES: mark_visited() was called.
void uncount_hooks_of_leaves(collector::HiddenReferences& hidden);

}  // namespace cyclewatch::device
