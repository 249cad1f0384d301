// SPDX-License-Identifier: Apache-2.0
// What the calling thread is in the midst of.
#pragma once

namespace cyclewatch::python {

// True if code of the standard library's logging or queues is among the innermost frames of the
// calling thread: what is called from there may hold a lock that is not reentrant, and logging
// something would take it again. REQUIRES: GIL held. RUNS PYTHON: never.
// ALLOCATES: the frame objects of what runs, as warnings.warn() does.
[[nodiscard]] bool is_in_logging() noexcept;

}  // namespace cyclewatch::python
