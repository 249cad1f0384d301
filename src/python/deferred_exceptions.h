// SPDX-License-Identifier: Apache-2.0
// KeyboardInterrupt, SystemExit and other exceptions that do not derive from Exception, raised by a
// user's function inside a collection. CPython would drop them there ("Exception ignored in ..."),
// so they are raised again after the collection, on the main thread, by one pending call.
//
// REQUIRES (everything here): GIL held.
#pragma once

namespace cyclewatch::python {

// Clears the pending exception, saves it for raise_deferred() and returns true. Returns false and
// leaves it pending if it derives from Exception, or if this is not the main thread, because
// pending calls run only on the main thread. The caller then passes it to sys.unraisablehook or
// clears it.
//
// Saves only the first exception until it has been raised, and drops its traceback, whose frames
// refer to unreachable objects. REQUIRES: an exception is pending.
// RUNS PYTHON: finalizers of objects to which only those frames refer.
[[nodiscard]] bool defer_exception() noexcept;

// To be called at the end of a collection: adds a pending call that raises the saved exception, if
// any. RUNS PYTHON: never.
void raise_deferred() noexcept;

}  // namespace cyclewatch::python
