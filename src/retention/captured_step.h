// SPDX-License-Identifier: Apache-2.0
// Finds the object on a path that a callback or the call of another thread uses as a whole.
// REQUIRES: GIL held. RUNS PYTHON: never. May throw std::bad_alloc.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "retention/path_names.h"
#include "retention/roots.h"

namespace cyclewatch::retention {

// True if the interpreter calls what the root refers to, such as a signal handler or a function
// passed to atexit.register(). False if it is null: no known root.
[[nodiscard]] bool is_root_of_callback(const Root* root);

// True for a variable or a value of a running function of a thread that is neither the calling
// thread nor the main thread. False if it is null.
[[nodiscard]] bool is_root_of_worker(const Root* root);

// The step to the object that a callback captures, or that a variable of another thread refers to:
// the callback or the thread may need all of it, so only the steps up to this one can be cut.
// Callbacks are those of is_root_of_callback() and callables in a list, set or deque, or in a dict
// under a key that is not a string. nullopt if there is no such object, or if it is an asyncio task
// or, for a callable in a container, a container itself.
[[nodiscard]] std::optional<std::size_t> captured_step(const std::vector<Step>& steps,
                                                       const Root* root);

}  // namespace cyclewatch::retention
