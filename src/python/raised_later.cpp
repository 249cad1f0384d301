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

#include "python/collection_under_way.h"
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

// On the main thread, between two bytecodes of whatever runs there.
int raise_one(void* /*unused*/) {
    const StateLock lock;
    std::vector<Kept>& kept = all_kept();
    const auto next = std::ranges::find_if(kept, &Kept::on_main_thread);
    if (next == kept.end() || is_collecting_here()) {
        return 0;  // raise_kept() asks again
    }
    const OwnedRef raised = std::move(next->exception);
    kept.erase(next);
    raise_kept();  // those that are left
    PyErr_SetObject(class_of(raised), raised.get());
    return -1;
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
    if (all_kept().empty() || is_collecting_here()) {
        return;
    }
    const ErrorStash stash;
    const auto is_told = [](const Kept& kept) {
        if (!kept.on_main_thread) {
            PyThreadState_SetAsyncExc(kept.thread, class_of(kept.exception));
        }
        return !kept.on_main_thread;
    };
    std::erase_if(all_kept(), is_told);
    if (!all_kept().empty()) {
        // Where the interpreter has no room to remember it, the end of the next collection asks.
        (void)Py_AddPendingCall(&raise_one, nullptr);
    }
}

bool is_anything_kept() noexcept {
    return !all_kept().empty();
}

}  // namespace cyclewatch::python
