// SPDX-License-Identifier: Apache-2.0
// Whether the calling thread is inside the standard library's logging.
//
// Why this is needed: a report is logged between two bytecodes of the main thread. If these are
// bytecodes of a log handler that holds a lock which is not reentrant (a queue.Queue's behind
// logging.handlers.QueueHandler, or the handler's own), logging the report calls the same handler,
// which then waits for its own lock: the program hangs.
#pragma once

namespace cyclewatch::python {

// True if a frame of logging/__init__.py, which calls every handler, is among the innermost frames
// of the calling thread. REQUIRES: GIL held. RUNS PYTHON: never.
// ALLOCATES: the frame objects of the call stack, as warnings.warn() does.
[[nodiscard]] bool is_in_logging() noexcept;

}  // namespace cyclewatch::python
