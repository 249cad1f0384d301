// SPDX-License-Identifier: Apache-2.0
#include "device/torch_memory.h"

#include <Python.h>

#include "device/imported_module.h"
#include "python/references.h"

namespace cyclewatch::device {
namespace {

// The function of torch._C, borrowed, if it is one in C: a program may have put its own there.
PyObject* memory_stats_function() noexcept {
    PyObject* const native = imported("torch._C");
    PyObject* const function =
        native == nullptr ? nullptr
                          : PyDict_GetItemString(PyModule_GetDict(native), "_cuda_memoryStats");
    return function != nullptr && PyCFunction_CheckExact(function) ? function : nullptr;
}

// stats["allocated_bytes"]["all"]["current"], borrowed.
PyObject* current_allocated(PyObject* stats) noexcept {
    for (const char* const key : {"allocated_bytes", "all", "current"}) {
        if (stats == nullptr || !PyDict_CheckExact(stats)) {
            return nullptr;
        }
        stats = PyDict_GetItemString(stats, key);
    }
    return stats != nullptr && PyLong_CheckExact(stats) ? stats : nullptr;
}

}  // namespace

std::optional<std::uint64_t> torch_allocated_bytes(int device) noexcept {
    std::optional<std::uint64_t> allocated;
    if (PyObject* const function = memory_stats_function()) {
        const python::OwnedRef number = python::steal(PyLong_FromLong(device));
        const python::OwnedRef stats =
            python::steal(number ? PyObject_CallOneArg(function, number.get()) : nullptr);
        if (PyObject* const current = current_allocated(stats.get())) {
            allocated = PyLong_AsUnsignedLongLong(current);
        }
    }
    if (PyErr_Occurred() != nullptr) {
        PyErr_Clear();
        return std::nullopt;
    }
    return allocated;
}

}  // namespace cyclewatch::device
