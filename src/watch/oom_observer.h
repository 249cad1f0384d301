// SPDX-License-Identifier: Apache-2.0
// Uses a native function to observe failed allocations of torch's CUDA allocator. The function is
// attached to torch only once, because torch cannot detach an observer. torch calls the function
// with the exact size of the failed allocation. The call precedes the exception, so errors that the
// program handles are observed, too. The call happens on the allocating thread, which may be an
// autograd thread.
//
// REQUIRES (everything here): GIL held.
#pragma once

#include <Python.h>

namespace cyclewatch::watch {

// Sets the function that is called with (device number, requested bytes, limit) for each failed
// allocation; null means no function. The handler scans the heap, so it is not called if more than
// two million objects are tracked. It is also not called for a failure that happens while the
// handler runs. Exceptions that the handler raises are ignored, except for KeyboardInterrupt, which
// is raised again on the main thread.
void set_oom_handler(PyObject* handler);

// Attaches the observer if there is a handler and the program has initialized CUDA. Never
// initializes CUDA itself. Idempotent. Leaves no Python error. RUNS PYTHON: torch's functions.
void attach_oom_observer() noexcept;

// True if attach_oom_observer() would attach the observer. RUNS PYTHON: never.
[[nodiscard]] bool can_attach_oom_observer() noexcept;

}  // namespace cyclewatch::watch
