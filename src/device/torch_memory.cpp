// SPDX-License-Identifier: Apache-2.0
#include "device/torch_memory.h"

#include <Python.h>

#include <optional>

#include "device/readers/plain_attributes.h"
#include "device/readers/torch_functions.h"
#include "python/references.h"

namespace cyclewatch::device {
namespace {

using python::OwnedRef;
using python::steal;
using torch_api::imported;

std::optional<std::uint64_t> unsigned_number(PyObject* number) noexcept {
    if (number == nullptr || !PyLong_CheckExact(number)) {
        return std::nullopt;
    }
    const unsigned long long value = PyLong_AsUnsignedLongLong(number);
    if (PyErr_Occurred() != nullptr) {
        PyErr_Clear();
        return std::nullopt;
    }
    return value;
}

// torch._C._cuda_memoryStats, borrowed. Null if a program has replaced the C function with a Python
// function.
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
        stats = entry(stats, key);
    }
    return stats;
}

}  // namespace

std::optional<std::uint64_t> torch_allocated_bytes(int device) noexcept {
    std::optional<std::uint64_t> allocated;
    if (PyObject* const function = memory_stats_function()) {
        const OwnedRef number = steal(PyLong_FromLong(device));
        const OwnedRef stats =
            steal(number ? PyObject_CallOneArg(function, number.get()) : nullptr);
        allocated = unsigned_number(current_allocated(stats.get()));
    }
    PyErr_Clear();
    return allocated;
}

}  // namespace cyclewatch::device
