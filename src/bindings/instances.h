// SPDX-License-Identifier: Apache-2.0
// Classes of pybind11 whose instances can be asked for where there is no memory. By itself,
// pybind11 goes on with the instance that it did not get, and frees what is not its own yet.
//
// REQUIRES (everything here): GIL held.
#pragma once

#include <pybind11/pybind11.h>

#include <new>

namespace cyclewatch::bindings {

namespace py = pybind11;

// Memory for an instance. Throws what is pending where there is none: pybind11 does not look.
inline PyObject* allocate_or_throw(PyTypeObject* type, Py_ssize_t items) {
    PyObject* const instance = PyType_GenericAlloc(type, items);
    if (instance == nullptr) {
        throw py::error_already_set();
    }
    return instance;
}

// As pybind11's own; but called by the interpreter, which exceptions of C++ must not reach.
extern "C" inline PyObject* cyclewatch_new_instance(PyTypeObject* type,
                                                    PyObject* /*arguments*/,
                                                    PyObject* /*keywords*/) {
    try {
        return py::detail::make_new_instance(type);
    } catch (py::error_already_set& error) {
        error.restore();
    } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
    }
    return nullptr;
}

// Where there is no memory to register a new instance, pybind11 frees what it was to refer to.
// So it is told that it owns nothing.
template <typename Class>
void free_nothing_that_failed(Class& added) {
    static void (*original)(py::detail::instance*, const void*) = nullptr;
    auto* const type = py::detail::get_type_info(reinterpret_cast<PyTypeObject*>(added.ptr()));
    original = type->init_instance;
    type->init_instance = [](py::detail::instance* instance, const void* holder) {
        try {
            original(instance, holder);
        } catch (...) {
            instance->owned = false;
            throw;
        }
    };
}

// Makes an instance that there is no memory for a MemoryError.
template <typename Class>
Class& survive_without_memory(Class& added) {
    free_nothing_that_failed(added);
    auto* const type = reinterpret_cast<PyTypeObject*>(added.ptr());
    type->tp_alloc = allocate_or_throw;
    type->tp_new = cyclewatch_new_instance;
    return added;
}

}  // namespace cyclewatch::bindings
