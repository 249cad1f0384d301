// SPDX-License-Identifier: Apache-2.0
#include "python/raised_later.h"

#include <Python.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <new>
#include <utility>
#include <vector>

#include "python/guards.h"
#include "python/references.h"
#include "python/state_lock.h"

namespace cyclewatch::python {
namespace {

struct Kept {
    OwnedRef exception;
    unsigned long thread = 0;
    bool on_main_thread = false;
};

// Never destroyed, as collections may outlive statics; made where it lies: no memory is asked for.
std::vector<Kept>& all_kept() noexcept {
    using All = std::vector<Kept>;
    alignas(All) static std::array<std::byte, sizeof(All)> memory;
    static All& kept = *new (memory.data()) All;
    return kept;
}

PyObject* class_of(const OwnedRef& exception) noexcept {
    return reinterpret_cast<PyObject*>(Py_TYPE(exception.get()));
}

int raise_again(void* exception) {
    const OwnedRef raised = steal(static_cast<PyObject*>(exception));
    PyErr_SetObject(class_of(raised), raised.get());
    return -1;
}

// False if the interpreter has no room to remember it.
bool raise_soon(Kept& kept) noexcept {
    if (!kept.on_main_thread) {
        PyThreadState_SetAsyncExc(kept.thread, class_of(kept.exception));
        return true;
    }
    const bool room = Py_AddPendingCall(&raise_again, kept.exception.get()) == 0;
    if (room) {
        (void)kept.exception.release();
    }
    return room;
}

}  // namespace

void keep_for_later() noexcept {
    PyObject* type = nullptr;
    PyObject* value = nullptr;
    PyObject* traceback = nullptr;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    PyException_SetTraceback(value, Py_None);
    std::vector<Kept>& kept = all_kept();
    const bool is_new = std::ranges::none_of(
        kept, [&](const Kept& each) { return Py_TYPE(each.exception.get()) == Py_TYPE(value); });
    if (is_new) {
        try {
            // The thread that signal handlers run on is the main one.
            kept.push_back({borrow(value), PyThread_get_thread_ident(), ::gettid() == ::getpid()});
        } catch (const std::bad_alloc&) {
            // Nothing can be kept where there is no memory.
        }
    }
    const StateRelease release;
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
}

void raise_kept() noexcept {
    if (all_kept().empty()) {
        return;
    }
    const ErrorStash stash;
    std::erase_if(all_kept(), raise_soon);
}

}  // namespace cyclewatch::python
