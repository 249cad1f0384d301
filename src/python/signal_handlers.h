// SPDX-License-Identifier: Apache-2.0
// Telling what a signal handler of the program raised from what the code that it interrupted did.
#pragma once

#include <Python.h>

namespace cyclewatch::python {

// True if `exception` came out of a signal handler written in Python, as a deadline by
// signal.alarm() does: CPython hands it the signal's number and the frame that it interrupts, so
// that somewhere on the way of the traceback a function was given those of its own caller.
// REQUIRES: GIL held. RUNS PYTHON: no. Leaves the error that is pending, if any, alone.
[[nodiscard]] bool came_from_signal_handler(PyObject* exception) noexcept;

// The same of the error that is pending, or it is no Exception at all (SystemExit and the like):
// whoever raised it did not mean the function of the user's that it came up in.
[[nodiscard]] bool pending_error_is_the_programs() noexcept;

}  // namespace cyclewatch::python
