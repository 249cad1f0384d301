// SPDX-License-Identifier: Apache-2.0
// Who calls the functions and methods on a cycle: the program, or a library to which the program
// has passed them.
#pragma once

#include "analysis/cycle_view.h"

namespace cyclewatch::analysis {

// True if the holder of reference `i` is a callable that is called by code other than user code,
// such as a library or functools.partial. These callers would not dereference a weak reference.
[[nodiscard]] bool is_called_by_others(const CycleView& cycle, std::size_t i);

// True if the object only calls what it refers to: a functools.partial, or an object of a library,
// such as the wrapper that torch creates for some hooks of modules.
[[nodiscard]] bool only_calls_others(const CollapsedGraph& graph, NodeIx node);

// True if the holder of reference `i` is registered as a hook, directly or through an object that
// only calls it.
[[nodiscard]] bool is_registered_as_hook(const CycleView& cycle, std::size_t i);

// True if the holder of reference `i` is a function that a library calls, so that the program
// cannot pass it other arguments.
[[nodiscard]] bool is_called_by_library(const CycleView& cycle, std::size_t i);

// If reference `i` is where a hook for saved tensors (torch.autograd.graph.saved_tensors_hooks)
// stores the tensor that it was called with, returns the hook; otherwise kNone. The store is a
// variable or a container of the hook, or an attribute of the object that is the hook, or whose
// method it is.
[[nodiscard]] NodeIx storing_pack_hook(const CycleView& cycle, std::size_t i);

// True if reference `i` is an item of a dict, list or set that the program has passed to a library
// as an argument (it is in another container, which the library keeps for the backward pass), and
// the item is a tensor that an operation of the same graph computed. The program has stored it:
// libraries do not store tensors in arguments that they only pass on.
[[nodiscard]] bool stores_output_in_argument(const CycleView& cycle, std::size_t i);

// The function of the program that the holder of reference `i`, an object or function of a library,
// calls, as a node for which calls_user_function() is true. kNone if unknown.
[[nodiscard]] NodeIx caller_of_user_function(const CycleView& cycle, std::size_t i);

}  // namespace cyclewatch::analysis
