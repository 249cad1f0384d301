// SPDX-License-Identifier: Apache-2.0
// Detects whether the calling thread is inside the standard library's logging.
//
// A report is logged between two bytecodes of the main thread. If the thread is inside a log
// handler that holds a non-reentrant lock (its own, or that of logging.handlers.QueueHandler's
// queue), logging the report would call the same handler and deadlock.
#pragma once

namespace cyclewatch::python {

// True if one of the innermost frames of the calling thread belongs to logging/__init__.py, which
// calls every handler. REQUIRES: GIL held. RUNS PYTHON: never. ALLOCATES: frame objects.
[[nodiscard]] bool is_in_logging() noexcept;

}  // namespace cyclewatch::python
