// SPDX-License-Identifier: Apache-2.0
// Defers exceptions that do not derive from Exception, such as KeyboardInterrupt and SystemExit,
// when a user's function raises them inside a collection. CPython drops exceptions that are raised
// inside a collection ("Exception ignored in ..."). Therefore, a pending call on the main thread
// raises the deferred exception again after the collection.
//
// REQUIRES (everything here): GIL held.
#pragma once

namespace cyclewatch::python {

// Clears the pending exception, saves it for raise_deferred() and returns true. Returns false and
// leaves the exception pending if it derives from Exception, or if the current thread is not the
// main thread: pending calls run only on the main thread. The caller then passes the exception to
// sys.unraisablehook or clears it.
//
// At most one exception is saved at a time; until it has been raised, later exceptions are dropped.
// The traceback of the saved exception is dropped too, because its frames refer to unreachable
// objects. REQUIRES: an exception is pending. RUNS PYTHON: finalizers of objects to which only
// those frames refer.
[[nodiscard]] bool defer_exception() noexcept;

// Call this at the end of a collection. If an exception is saved, adds a pending call that raises
// it. RUNS PYTHON: never.
void raise_deferred() noexcept;

}  // namespace cyclewatch::python
