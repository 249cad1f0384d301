// SPDX-License-Identifier: Apache-2.0
#include "watch/library_version.h"

#include <Python.h>

#include <algorithm>

namespace cyclewatch::watch {

std::string loaded_version(const std::string& package) {
    std::string name = package;
    std::ranges::replace(name, '-', '_');
    PyObject* const module = PyDict_GetItemString(PyImport_GetModuleDict(), name.c_str());
    if (module == nullptr || !PyModule_Check(module)) {
        return {};
    }
    PyObject* const version = PyDict_GetItemString(PyModule_GetDict(module), "__version__");
    // ASCII only: other text would be encoded into memory that the string then keeps.
    if (version == nullptr || !PyUnicode_Check(version) || !PyUnicode_IS_ASCII(version)) {
        return {};
    }
    return {static_cast<const char*>(PyUnicode_DATA(version)),
            static_cast<std::size_t>(PyUnicode_GET_LENGTH(version))};
}

}  // namespace cyclewatch::watch
