// SPDX-License-Identifier: Apache-2.0
// Scope guards that restore interpreter state.
#pragma once

#include <Python.h>

#include "compat/gc_list.h"
#include "python/forced_unwind.h"
#include "python/state_lock.h"

namespace cyclewatch::python {

// Saves the pending exception and restores it at scope end, replacing any exception raised in the
// scope. REQUIRES: GIL held.
class ErrorStash {
  public:
    ErrorStash() noexcept { PyErr_Fetch(&type_, &value_, &traceback_); }
    ErrorStash(const ErrorStash&) = delete;
    ErrorStash& operator=(const ErrorStash&) = delete;
    ~ErrorStash() {
        if (armed_) {
            PyErr_Restore(type_, value_, traceback_);
        }
    }
    // Discards the saved exception, so that any exception pending at scope end remains pending.
    void drop() noexcept {
        Py_CLEAR(type_);
        Py_CLEAR(value_);
        Py_CLEAR(traceback_);
        armed_ = false;
    }

  private:
    PyObject* type_ = nullptr;
    PyObject* value_ = nullptr;
    PyObject* traceback_ = nullptr;
    bool armed_ = true;
};

// Hides the calls and lines of our own Python code from the program's tracer, profiler or debugger
// for a scope. REQUIRES: GIL held.
class TracingPause {
  public:
    TracingPause() noexcept : thread_(PyThreadState_Get()) { PyThreadState_EnterTracing(thread_); }
    TracingPause(const TracingPause&) = delete;
    TracingPause& operator=(const TracingPause&) = delete;
    ~TracingPause() { PyThreadState_LeaveTracing(thread_); }

  private:
    PyThreadState* thread_;
};

// Releases the GIL for a scope. REQUIRES: GIL held.
class GilRelease {
  public:
    GilRelease() noexcept : state_(PyEval_SaveThread()) {}
    GilRelease(const GilRelease&) = delete;
    GilRelease& operator=(const GilRelease&) = delete;
    ~GilRelease() {
        sleep_if_unwound([this] { PyEval_RestoreThread(state_); });
    }

  private:
    StateRelease release_;  // first member: the lock is reacquired after the GIL
    PyThreadState* state_;
};

// Disables automatic collection for a scope, so that objects we create do not trigger a collection.
// REQUIRES: GIL held.
class GcPause {
  public:
    GcPause() noexcept : was_enabled_(PyGC_Disable() != 0) {}
    GcPause(const GcPause&) = delete;
    GcPause& operator=(const GcPause&) = delete;
    ~GcPause() {
        if (was_enabled_) {
            PyGC_Enable();
        }
    }

  private:
    bool was_enabled_;
};

// Restores the youngest generation's allocation count at scope end, so that objects we create do
// not affect when the program's next automatic collection starts. REQUIRES: GIL held.
class YoungCountGuard {
  public:
    YoungCountGuard() noexcept : count_(cw_young_count()) {}
    YoungCountGuard(const YoungCountGuard&) = delete;
    YoungCountGuard& operator=(const YoungCountGuard&) = delete;
    ~YoungCountGuard() { cw_set_young_count(count_ > 0 ? count_ : 0); }
    // Adjusts the count to restore. Must be called for objects that outlive the scope, because
    // freeing them decrements the count.
    void change(int by) noexcept { count_ += by; }

  private:
    int count_;
};

}  // namespace cyclewatch::python
