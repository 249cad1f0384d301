// SPDX-License-Identifier: Apache-2.0
// Calls Python functions on the main thread periodically. Used for programs that have disabled
// automatic collection.
//
// REQUIRES (everything here): GIL held.
#pragma once

#include <Python.h>

#include <chrono>

namespace cyclewatch::watch {

// Calls `function` on the main thread periodically, as a pending call. The pause after each call is
// `period`, or longer if the calls would otherwise take more than the fraction `share` (above 0, at
// most 1) of wall time. `function` is never released. The timers do not run in a forked child.
void call_every(std::chrono::duration<double> period, double share, PyObject* function);

// Stops all timers. Idempotent.
void stop_calls();

}  // namespace cyclewatch::watch
