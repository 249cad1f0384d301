// SPDX-License-Identifier: Apache-2.0
// KeyboardInterrupt, SystemExit and other exceptions that do not derive from Exception, raised by a
// user's function inside a collection. CPython would drop them there ("Exception ignored in ..."),
// so they are raised again after the collection, on the main thread, by one pending call.
//
// REQUIRES (everything here): GIL held.
#pragma once

namespace cyclewatch::python {

// Takes the pending exception and returns true if it is to be raised again later. Returns false and
// leaves it pending if it derives from Exception, or if this is not the main thread, which no
// pending call reaches: the caller then gives it to sys.unraisablehook or clears it.
//
// The first exception is kept, without its traceback, whose frames refer to unreachable objects;
// further ones are dropped until it has been raised. REQUIRES: an exception is pending.
// RUNS PYTHON: finalizers of objects that only those frames held.
[[nodiscard]] bool defer_exception() noexcept;

// To be called at the end of a collection. RUNS PYTHON: no.
void raise_deferred() noexcept;

}  // namespace cyclewatch::python
