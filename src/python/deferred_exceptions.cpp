// SPDX-License-Identifier: Apache-2.0
#include "python/deferred_exceptions.h"

#include <Python.h>
#include <unistd.h>

#include <utility>

#include "python/references.h"
#include "python/state_lock.h"

namespace cyclewatch::python {
namespace {

// A strong reference. This variable is not an OwnedRef, because collections may run after static
// destructors.
PyObject* deferred = nullptr;

// Runs as a pending call, on the main thread between two bytecode instructions.
int raise_now(void* /*unused*/) {
    const StateLock lock;
    const OwnedRef exception = steal(std::exchange(deferred, nullptr));
    if (!exception) {
        return 0;  // already raised by an earlier pending call
    }
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.get())), exception.get());
    return -1;
}

}  // namespace

bool defer_exception() noexcept {
    const bool on_main_thread = ::gettid() == ::getpid();
    if (!on_main_thread || PyErr_ExceptionMatches(PyExc_Exception) != 0) {
        return false;
    }
    PyObject* type = nullptr;
    PyObject* value = nullptr;
    PyObject* traceback = nullptr;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    PyException_SetTraceback(value, Py_None);
    if (deferred == nullptr) {
        deferred = std::exchange(value, nullptr);
    }
    const StateRelease release;  // freeing the frames may run Python
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    return true;
}

void raise_deferred() noexcept {
    if (deferred != nullptr) {
        // If the interpreter's queue of pending calls is full, the next collection tries again.
        (void)Py_AddPendingCall(&raise_now, nullptr);
    }
}

}  // namespace cyclewatch::python
