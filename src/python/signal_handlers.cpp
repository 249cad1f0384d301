// SPDX-License-Identifier: Apache-2.0
#include "python/signal_handlers.h"

#include <csignal>

#include "python/guards.h"
#include "python/references.h"

namespace cyclewatch::python {
namespace {

bool is_signal_number(PyObject* value) noexcept {
    int overflow = 0;
    const long number = PyLong_Check(value) ? PyLong_AsLongAndOverflow(value, &overflow) : 0;
    return overflow == 0 && number >= 1 && number <= SIGRTMAX;
}

bool holds_number_and_frame(PyObject* const* values, Py_ssize_t count, PyObject* frame) noexcept {
    for (Py_ssize_t i = 1; i < count; ++i) {
        if (values[i] == frame && is_signal_number(values[i - 1])) {
            return true;
        }
    }
    return false;
}

// What the function of `frame` was called with, in order; the extra ones of `*arguments` last.
OwnedRef arguments_of(PyFrameObject* frame) noexcept {
    const OwnedRef code = steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
    auto* const function = reinterpret_cast<PyCodeObject*>(code.get());
    const OwnedRef names = steal(PyObject_GetAttrString(code.get(), "co_varnames"));
    const OwnedRef locals = steal(PyFrame_GetLocals(frame));
    OwnedRef arguments = steal(PyList_New(0));
    if (!names || !locals || !arguments || (function->co_flags & CO_OPTIMIZED) == 0) {
        return {};
    }
    const int named = function->co_argcount;
    const int rest = (function->co_flags & CO_VARARGS) != 0 ? 1 : 0;
    for (int i = 0; i < named + rest; ++i) {
        const int index = i < named ? i : i + function->co_kwonlyargcount;
        const OwnedRef value =
            steal(PyObject_GetItem(locals.get(), PyTuple_GET_ITEM(names.get(), index)));
        const OwnedRef shown = value ? borrow(value.get()) : borrow(Py_None);
        PyErr_Clear();  // one that was deleted
        if (PyList_Append(arguments.get(), shown.get()) != 0) {
            return {};
        }
    }
    return arguments;
}

// Among the arguments, or, as of `def handler(*_)`, in a tuple among them. A function that traces
// gets its caller's frame as well, but no number before it.
bool are_of_a_handler(PyObject* arguments, PyObject* frame) noexcept {
    PyObject* const* const values = &PyList_GET_ITEM(arguments, 0);
    const Py_ssize_t count = PyList_GET_SIZE(arguments);
    for (Py_ssize_t i = 0; i < count; ++i) {
        if (PyTuple_CheckExact(values[i]) &&
            holds_number_and_frame(
                &PyTuple_GET_ITEM(values[i], 0), PyTuple_GET_SIZE(values[i]), frame)) {
            return true;
        }
    }
    return count > 0 && holds_number_and_frame(values, count, frame);
}

bool was_given_a_signal(PyFrameObject* frame) noexcept {
    const OwnedRef caller = steal(reinterpret_cast<PyObject*>(PyFrame_GetBack(frame)));
    const OwnedRef arguments = caller ? arguments_of(frame) : OwnedRef();
    return arguments && are_of_a_handler(arguments.get(), caller.get());
}

}  // namespace

bool came_from_signal_handler(PyObject* exception) noexcept {
    const ErrorStash stash;
    OwnedRef step = steal(PyException_GetTraceback(exception));
    while (step && step.get() != Py_None) {
        auto* const traceback = reinterpret_cast<PyTracebackObject*>(step.get());
        if (was_given_a_signal(traceback->tb_frame)) {
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
