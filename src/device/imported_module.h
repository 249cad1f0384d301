// SPDX-License-Identifier: Apache-2.0
// Python modules that the program has imported already. Imports nothing.
#pragma once

#include <Python.h>

namespace cyclewatch::device {

// A module of sys.modules, borrowed; null if it is not there. May leave a Python error.
// REQUIRES: GIL held. RUNS PYTHON: never.
[[nodiscard]] inline PyObject* imported(const char* name) noexcept {
    PyObject* const module = PyDict_GetItemString(PyImport_GetModuleDict(), name);
    return module != nullptr && PyModule_Check(module) ? module : nullptr;
}

}  // namespace cyclewatch::device
