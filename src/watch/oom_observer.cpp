// SPDX-License-Identifier: Apache-2.0
#include "watch/oom_observer.h"

#include <unistd.h>

#include <cstddef>
#include <utility>

#include "compat/gc_list.h"
#include "python/guards.h"
#include "python/references.h"

namespace cyclewatch::watch {
namespace {

struct Observer {
    python::OwnedRef handler;      // null: does nothing
    python::OwnedRef attached_to;  // the module torch
    python::OwnedRef function;     // created when it is first attached
    bool is_busy = false;
    pid_t process = 0;  // in which `is_busy` was set
    // Names to look up in each attempt to attach the observer.
    python::OwnedRef torch = python::steal(PyUnicode_InternFromString("torch"));
    python::OwnedRef cuda = python::steal(PyUnicode_InternFromString("cuda"));
    python::OwnedRef initialized = python::steal(PyUnicode_InternFromString("_initialized"));
};

Observer& observer() {
    // The observer is never destroyed, because torch may call it until the process ends.
    static Observer& the_observer = *new Observer;
    return the_observer;
}

// True if the handler is already running. The handler may itself cause another failed allocation.
// In a forked child, the thread that set is_busy does not exist, so the flag is ignored.
bool is_busy(const Observer& o) noexcept {
    return o.is_busy && o.process == ::getpid();
}

// Drops the handler's exception, which would otherwise replace the out-of-memory error.
void drop_exception() noexcept {
    if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt) != 0) {
        PyErr_SetInterrupt();
    }
    PyErr_Clear();
}

// Limits the run time of the handler, which scans the heap up to three times.
constexpr std::size_t kMostObjects = 2'000'000;

// Called with (device, requested, limit, free). Never raises, regardless of the arguments. Does not
// call the CUDA driver or allocate device memory.
PyObject* on_out_of_memory(PyObject* /*self*/, PyObject* const* args, Py_ssize_t count) {
    Observer& o = observer();
    if (count >= 3 && o.handler && !is_busy(o) && cw_tracks_more_than(kMostObjects) == 0) {
        const python::ErrorStash stash;
        const python::OwnedRef handler = python::borrow(o.handler.get());
        o.is_busy = true;
        o.process = ::getpid();
        const python::OwnedRef result = python::steal(
            PyObject_CallFunctionObjArgs(handler.get(), args[0], args[1], args[2], nullptr));
        if (!result) {
            drop_exception();
        }
        o.is_busy = false;
    }
    Py_RETURN_NONE;
}

PyMethodDef definition{
    "cyclewatch_oom_observer",
    reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(on_out_of_memory)),
    METH_FASTCALL,
    "cyclewatch's observer of failed device allocations."};

// An entry of a module's dict, borrowed. If there is no such entry, returns null without an error.
PyObject* entry_of(PyObject* module, const python::OwnedRef& name) noexcept {
    PyObject* const dict =
        module != nullptr && PyModule_Check(module) ? PyModule_GetDict(module) : nullptr;
    PyObject* const entry =
        dict != nullptr && name ? PyDict_GetItemWithError(dict, name.get()) : nullptr;
    PyErr_Clear();
    return entry;
}

// The torch module to attach to, borrowed; null if torch is not imported or if the observer is
// already attached to it.
PyObject* new_torch(const Observer& o) noexcept {
    if (!o.handler || !o.torch) {
        return nullptr;
    }
    PyObject* const torch = PyDict_GetItemWithError(PyImport_GetModuleDict(), o.torch.get());
    PyErr_Clear();
    return torch == o.attached_to.get() ? nullptr : torch;
}

// True if the program has initialized CUDA. False in a forked child, which cannot use CUDA.
bool is_initialized(PyObject* torch) noexcept {
    const python::OwnedRef cuda = python::steal(PyObject_GetAttrString(torch, "cuda"));
    const python::OwnedRef result =
        python::steal(cuda ? PyObject_CallMethod(cuda.get(), "is_initialized", nullptr) : nullptr);
    return result.get() == Py_True;
}

bool attach_to(PyObject* torch, Observer& o) noexcept {
    const python::OwnedRef native = python::steal(PyObject_GetAttrString(torch, "_C"));
    const python::OwnedRef attach = python::steal(
        native ? PyObject_GetAttrString(native.get(), "_cuda_attach_out_of_memory_observer")
               : nullptr);
    if (!o.function) {
        o.function = python::steal(PyCFunction_New(&definition, nullptr));
    }
    return attach && o.function &&
           python::steal(PyObject_CallOneArg(attach.get(), o.function.get()));
}

}  // namespace

void set_oom_handler(PyObject* handler) {
    // The old handler is released last, because releasing it may run Python code.
    const python::OwnedRef old = std::exchange(observer().handler, python::borrow(handler));
}

bool can_attach_oom_observer() noexcept {
    const Observer& o = observer();
    PyObject* const torch = new_torch(o);
    return torch != nullptr && entry_of(entry_of(torch, o.cuda), o.initialized) == Py_True;
}

void attach_oom_observer() noexcept {
    Observer& o = observer();
    PyObject* const found = new_torch(o);
    // Most calls return here. Reading the flag directly avoids a call to
    // torch.cuda.is_initialized(), which is written in Python.
    if (found == nullptr || entry_of(entry_of(found, o.cuda), o.initialized) == Py_False) {
        return;
    }
    const python::ErrorStash stash;
    const python::OwnedRef torch = python::borrow(found);
    // Do not attach before CUDA is initialized, because attaching would initialize CUDA.
    if (is_initialized(torch.get())) {
        // attached_to is set even if this fails, because retrying does not help if torch lacks the
        // function.
        (void)attach_to(torch.get(), o);
        o.attached_to = python::borrow(torch.get());
    }
    PyErr_Clear();
}

}  // namespace cyclewatch::watch
