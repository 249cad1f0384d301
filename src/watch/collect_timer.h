// SPDX-License-Identifier: Apache-2.0
// Collects garbage periodically, for programs that disabled automatic collection.
//
// REQUIRES (everything here): GIL held.
#pragma once

#include <Python.h>

#include <chrono>

namespace cyclewatch::watch {

// Calls `collect`, the original gc.collect, on the main thread once per `period`, as a pending
// call. Periods in which that thread does not run Python code are skipped. Replaces an earlier
// timer. `collect` is never released. There is no timer in a forked child.
void collect_every(std::chrono::duration<double> period, PyObject* collect);

// Idempotent.
void stop_collecting();

}  // namespace cyclewatch::watch
