// SPDX-License-Identifier: Apache-2.0
// RAII for Python references. Use OwnedRef instead of Py_INCREF and Py_DECREF.
// REQUIRES (everything here): GIL held.
#pragma once

#include <Python.h>

#include <utility>

namespace cyclewatch::python {

// Owns one strong reference, or none.
class OwnedRef {
  public:
    OwnedRef() noexcept = default;
    OwnedRef(const OwnedRef&) = delete;
    OwnedRef& operator=(const OwnedRef&) = delete;
    OwnedRef(OwnedRef&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    OwnedRef& operator=(OwnedRef&& other) noexcept {
        if (this != &other) {
            reset();
            object_ = std::exchange(other.object_, nullptr);
        }
        return *this;
    }
    ~OwnedRef() { reset(); }

    [[nodiscard]] PyObject* get() const noexcept { return object_; }
    explicit operator bool() const noexcept { return object_ != nullptr; }
    // Transfers ownership to the caller.
    [[nodiscard]] PyObject* release() noexcept { return std::exchange(object_, nullptr); }
    // RUNS PYTHON: possibly a finalizer.
    void reset() noexcept { Py_XDECREF(std::exchange(object_, nullptr)); }

  private:
    explicit OwnedRef(PyObject* object) noexcept : object_(object) {}
    friend OwnedRef steal(PyObject* object) noexcept;
    PyObject* object_ = nullptr;
};

// Takes ownership of a new reference. `object` may be null.
inline OwnedRef steal(PyObject* object) noexcept {
    return OwnedRef(object);
}

// Creates a strong reference from a borrowed one. `object` may be null.
inline OwnedRef borrow(PyObject* object) noexcept {
    Py_XINCREF(object);
    return steal(object);
}

}  // namespace cyclewatch::python
