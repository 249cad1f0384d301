// SPDX-License-Identifier: Apache-2.0
// Collects garbage every so many seconds, for programs that switched automatic collection off.
#pragma once

#include <Python.h>

#include <chrono>

namespace cyclewatch::watch {

// From now on `collect`, which is gc.collect as it was before the program could replace it, is
// called on the main thread, between two bytecodes, once per `period`, until stop_collecting(). It
// is kept for ever, as a call may be pending then. While that thread runs no Python, nothing is
// collected; missed turns are not made up for. Again: changes the period. In a forked child it has
// to be called anew.
// REQUIRES: GIL held.
void collect_every(std::chrono::duration<double> period, PyObject* collect);

// REQUIRES: GIL held.
void stop_collecting();

}  // namespace cyclewatch::watch
