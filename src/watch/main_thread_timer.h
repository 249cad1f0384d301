// SPDX-License-Identifier: Apache-2.0
// Calls Python functions on the main thread periodically. Used for programs that have disabled
// automatic collection.
//
// REQUIRES (everything here): GIL held.
#pragma once

#include <Python.h>

#include <chrono>

namespace cyclewatch::watch {

// Calls `function` on the main thread once per `period`, as a pending call. Periods in which that
// thread does not run Python code are skipped. `function` is never released. The timers do not run
// in a forked child.
void call_every(std::chrono::duration<double> period, PyObject* function);

// Stops all timers. Idempotent.
void stop_calls();

}  // namespace cyclewatch::watch
