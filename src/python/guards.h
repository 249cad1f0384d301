// SPDX-License-Identifier: Apache-2.0
// State of the interpreter that is put back at scope end.
#pragma once

#include <Python.h>

#include "compat/gc_list.h"
#include "python/forced_unwind.h"
#include "python/state_lock.h"

namespace cyclewatch::python {

// Sets aside the host's pending exception and restores it at scope end; whatever error was
// raised meanwhile is dropped. A hook must never eat or leave one. REQUIRES: GIL held.
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
    // Forgets what was set aside: the error that is pending now stays.
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

// Lets other threads run for a scope. REQUIRES: GIL held.
class GilRelease {
  public:
    GilRelease() noexcept : state_(PyEval_SaveThread()) {}
    GilRelease(const GilRelease&) = delete;
    GilRelease& operator=(const GilRelease&) = delete;
    ~GilRelease() {
        sleep_if_unwound([this] { PyEval_RestoreThread(state_); });
    }

  private:
    StateRelease release_;  // first: nobody waits for the lock without the interpreter
    PyThreadState* state_;
};

// No automatic collection for a scope: what it makes is ours, and a collection amid it would find
// the program's garbage earlier than the program does. REQUIRES: GIL held.
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

// Puts the youngest generation's allocation count back at scope end, so that objects of ours
// never move the moment of the program's next automatic collection. REQUIRES: GIL held.
class YoungCountGuard {
  public:
    YoungCountGuard() noexcept : count_(cw_young_count()) {}
    YoungCountGuard(const YoungCountGuard&) = delete;
    YoungCountGuard& operator=(const YoungCountGuard&) = delete;
    ~YoungCountGuard() { cw_set_young_count(count_ > 0 ? count_ : 0); }
    // What is put back shall be that much more: for objects whose end will lower the count.
    void change(int by) noexcept { count_ += by; }

  private:
    int count_;
};

}  // namespace cyclewatch::python
