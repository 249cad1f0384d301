// SPDX-License-Identifier: Apache-2.0
// State of the interpreter that is put back at scope end.
#pragma once

#include <Python.h>

namespace cyclewatch::python {

// Sets aside the host's pending exception and restores it at scope end; whatever error was
// raised meanwhile is dropped. A hook must never eat or leave one. REQUIRES: GIL held.
class ErrorStash {
  public:
    ErrorStash() noexcept { PyErr_Fetch(&type_, &value_, &traceback_); }
    ErrorStash(const ErrorStash&) = delete;
    ErrorStash& operator=(const ErrorStash&) = delete;
    ~ErrorStash() { PyErr_Restore(type_, value_, traceback_); }

  private:
    PyObject* type_ = nullptr;
    PyObject* value_ = nullptr;
    PyObject* traceback_ = nullptr;
};

// Holds the GIL for a scope, from any thread. valid() is false while the interpreter shuts
// down: then nothing was taken and Python must not be called.
class GilGuard {
  public:
    GilGuard() noexcept;
    GilGuard(const GilGuard&) = delete;
    GilGuard& operator=(const GilGuard&) = delete;
    ~GilGuard();
    [[nodiscard]] bool valid() const noexcept { return valid_; }

  private:
    bool valid_;
    PyGILState_STATE state_{};
};

// Lets other threads run for a scope. REQUIRES: GIL held.
class GilRelease {
  public:
    GilRelease() noexcept : state_(PyEval_SaveThread()) {}
    GilRelease(const GilRelease&) = delete;
    GilRelease& operator=(const GilRelease&) = delete;
    ~GilRelease() { PyEval_RestoreThread(state_); }

  private:
    PyThreadState* state_;
};

}  // namespace cyclewatch::python
