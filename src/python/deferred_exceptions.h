// SPDX-License-Identifier: Apache-2.0
// KeyboardInterrupt, SystemExit and other exceptions that do not derive from Exception, raised by a
// user's function inside a collection. CPython would drop them there ("Exception ignored in ..."),
// so they are raised again after the collection, on the main thread, by one pending call.
//
// REQUIRES (everything here): GIL held.
#pragma once

namespace cyclewatch::python {

// Clears the pending exception, saves it for raise_deferred() and returns true. Returns false and
// leaves the exception pending if it derives from Exception, or if this is not the main thread:
// pending calls run only on the main thread. The caller then passes the exception to
// sys.unraisablehook or clears it.
//
// At most one exception is saved at a time; until it has been raised, later ones are dropped. Its
// traceback is dropped too, because the frames in it refer to unreachable objects. REQUIRES: an
// exception is pending. RUNS PYTHON: finalizers of objects to which only those frames refer.
[[nodiscard]] bool defer_exception() noexcept;

// Call this at the end of a collection. If an exception is saved, adds a pending call that raises
// it. RUNS PYTHON: never.
void raise_deferred() noexcept;

}  // namespace cyclewatch::python
