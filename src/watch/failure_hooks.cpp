// SPDX-License-Identifier: Apache-2.0
#include "watch/failure_hooks.h"

#include <array>
#include <utility>

#include "python/guards.h"
#include "python/references.h"

namespace cyclewatch::watch {
namespace {

constexpr std::array kModules{"sys", "threading"};  // the program may import the latter later
constexpr std::array kNames{"excepthook", "__excepthook__"};

struct FailureHooks {
    python::OwnedRef handler;                                // null: the hooks are not replaced
    std::array<python::OwnedRef, kModules.size()> ours;      // null: not replaced
    std::array<python::OwnedRef, kModules.size()> previous;  // parallel to `ours`
};

FailureHooks& failure_hooks() {
    // Never destroyed, because Python may call a hook until the process ends.
    static FailureHooks& the_hooks = *new FailureHooks;
    return the_hooks;
}

// With no memory left, CPython 3.11 may never leave a function that has an exception handler.
bool is_memory_left() noexcept {
    constexpr std::size_t kEnough = 4096;
    void* const object = PyObject_Malloc(kEnough);
    void* const raw = PyMem_RawMalloc(kEnough);
    PyObject_Free(object);
    PyMem_RawFree(raw);
    return object != nullptr && raw != nullptr;
}

// sys passes the type, the exception and its traceback; threading passes one object.
python::OwnedRef failure_of(PyObject* const* args, Py_ssize_t count) noexcept {
    return count == 3 ? python::borrow(args[1])
                      : python::steal(PyObject_GetAttrString(args[0], "exc_value"));
}

void call_handler(PyObject* const* args, Py_ssize_t count) noexcept {
    const python::ErrorStash stash;
    const python::OwnedRef handler = python::borrow(failure_hooks().handler.get());
    const python::OwnedRef failure = failure_of(args, count);
    if (failure && failure.get() != Py_None) {
        const python::OwnedRef result =
            python::steal(PyObject_CallOneArg(handler.get(), failure.get()));
    }
    PyErr_Clear();
}

// `previous` is the replaced hook.
PyObject* on_failure(PyObject* previous, PyObject* const* args, Py_ssize_t count) {
    if (failure_hooks().handler && (count == 3 || count == 1) && is_memory_left()) {
        call_handler(args, count);
    }
    return PyObject_Vectorcall(previous, args, static_cast<std::size_t>(count), nullptr);
}

PyMethodDef failure_hook_definition{
    "excepthook",
    reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(on_failure)),
    METH_FASTCALL,
    "Reports out-of-memory errors, then calls the hook that it replaced."};

PyObject* module_at(std::size_t index) noexcept {
    return PyDict_GetItemString(PyImport_GetModuleDict(), kModules[index]);
}

python::OwnedRef attribute(PyObject* module, const char* name) noexcept {
    python::OwnedRef found =
        python::steal(module != nullptr ? PyObject_GetAttrString(module, name) : nullptr);
    PyErr_Clear();  // the program may have deleted the attribute
    return found;
}

// Replaces `from` by `to` wherever it is a hook of the module.
void replace_hook(PyObject* module, const python::OwnedRef& from, const python::OwnedRef& to) {
    for (const char* const name : kNames) {
        if (attribute(module, name).get() == from.get()) {
            (void)PyObject_SetAttrString(module, name, to.get());
        }
    }
    PyErr_Clear();
}

bool can_install_at(std::size_t index) noexcept {
    const FailureHooks& hooks = failure_hooks();
    return hooks.handler && !hooks.ours[index] && module_at(index) != nullptr;
}

void install_at(std::size_t index) noexcept {
    FailureHooks& hooks = failure_hooks();
    PyObject* const module = module_at(index);
    python::OwnedRef previous = attribute(module, kNames[0]);
    if (!previous) {
        return;
    }
    python::OwnedRef ours =
        python::steal(PyCFunction_New(&failure_hook_definition, previous.get()));
    if (ours) {
        replace_hook(module, previous, ours);
        hooks.ours[index] = std::move(ours);
        hooks.previous[index] = std::move(previous);
    }
}

}  // namespace

void set_failure_handler(PyObject* handler) {
    FailureHooks& hooks = failure_hooks();
    // The old handler is released last, because releasing it may run Python code.
    const python::OwnedRef old = std::exchange(hooks.handler, python::borrow(handler));
    for (std::size_t index = 0; handler == nullptr && index < kModules.size(); ++index) {
        const python::OwnedRef ours = std::move(hooks.ours[index]);
        const python::OwnedRef previous = std::move(hooks.previous[index]);
        if (ours) {
            replace_hook(module_at(index), ours, previous);
        }
    }
}

bool can_install_failure_hooks() noexcept {
    return can_install_at(0) || can_install_at(1);
}

void install_failure_hooks() noexcept {
    const python::ErrorStash stash;
    for (std::size_t index = 0; index < kModules.size(); ++index) {
        if (can_install_at(index)) {
            install_at(index);
        }
    }
    PyErr_Clear();
}

}  // namespace cyclewatch::watch
