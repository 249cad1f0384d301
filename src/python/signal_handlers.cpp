// SPDX-License-Identifier: Apache-2.0
#include "python/signal_handlers.h"

#include <algorithm>

#include "python/guards.h"
#include "python/references.h"

namespace cyclewatch::python {
namespace {

bool is_or_holds(PyObject* value, PyObject* frame) noexcept {
    if (value == frame) {
        return true;
    }
    if (!PyTuple_CheckExact(value)) {
        return false;  // `def handler(*_)` has a tuple of both arguments
    }
    PyObject* const* const items = &PyTuple_GET_ITEM(value, 0);
    return std::find(items, items + PyTuple_GET_SIZE(value), frame) !=
           items + PyTuple_GET_SIZE(value);
}

bool was_given_its_caller(PyFrameObject* frame) noexcept {
    const OwnedRef caller = steal(reinterpret_cast<PyObject*>(PyFrame_GetBack(frame)));
    const OwnedRef code = steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
    auto* const function = reinterpret_cast<PyCodeObject*>(code.get());
    if (!caller || (function->co_flags & CO_OPTIMIZED) == 0) {
        return false;  // the outermost, or no function: those have plain dicts of any kind
    }
    const OwnedRef locals = steal(PyFrame_GetLocals(frame));
    const OwnedRef values = steal(locals ? PyMapping_Values(locals.get()) : nullptr);
    if (!values || !PyList_Check(values.get())) {
        return false;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(values.get()); ++i) {
        if (is_or_holds(PyList_GET_ITEM(values.get(), i), caller.get())) {
            return true;
        }
    }
    return false;
}

}  // namespace

bool came_from_signal_handler(PyObject* exception) noexcept {
    const ErrorStash stash;
    OwnedRef step = steal(PyException_GetTraceback(exception));
    while (step && step.get() != Py_None) {
        auto* const traceback = reinterpret_cast<PyTracebackObject*>(step.get());
        if (was_given_its_caller(traceback->tb_frame)) {
            return true;
        }
        step = borrow(reinterpret_cast<PyObject*>(traceback->tb_next));
    }
    return false;
}

bool pending_error_is_the_programs() noexcept {
    if (PyErr_ExceptionMatches(PyExc_Exception) == 0) {
        return true;
    }
    PyObject* type = nullptr;
    PyObject* value = nullptr;
    PyObject* traceback = nullptr;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (traceback != nullptr) {
        PyException_SetTraceback(value, traceback);
    }
    const bool from_handler = came_from_signal_handler(value);
    PyErr_Restore(type, value, traceback);
    return from_handler;
}

}  // namespace cyclewatch::python
