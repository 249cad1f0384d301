// SPDX-License-Identifier: Apache-2.0
// Attributes of foreign objects, read without running Python code: C descriptors are called
// directly, instance attributes are taken from where the interpreter keeps them. No `getattr`,
// so nothing that a class overrides is seen.
//
// Everything here: REQUIRES: GIL held. RUNS PYTHON: never; C getters of the object's library.
// Leaves no Python error set.
#pragma once

#include <Python.h>

#include <cstdint>
#include <optional>
#include <string>

#include "python/references.h"

namespace cyclewatch::device {

// What the class that `type` inherits `name` from has under it, borrowed; null if none has.
[[nodiscard]] PyObject* class_attribute(PyTypeObject* type, PyObject* name) noexcept;

// True for a getset or a member of a C type.
[[nodiscard]] bool is_c_attribute(PyObject* attribute) noexcept;

// The value of the C attribute that `type`, a class of `object`, inherits under `name`. Null if
// it has none, or one that is made in Python, or one that raised.
[[nodiscard]] python::OwnedRef c_attribute(PyTypeObject* type,
                                           PyObject* object,
                                           PyObject* name) noexcept;
[[nodiscard]] python::OwnedRef c_attribute(PyObject* object, PyObject* name) noexcept;

// What the instance itself has under `name`, borrowed; null if nothing.
[[nodiscard]] PyObject* instance_attribute(PyObject* object, const char* name) noexcept;

// What an exact dict has under the text `name`, borrowed; null if nothing. Keys are compared as
// text only: no look-up, which would run the __eq__ of keys of the program's own making.
[[nodiscard]] PyObject* entry(PyObject* dict, const char* name) noexcept;

// The value of an exact int that fits.
[[nodiscard]] std::optional<std::int64_t> integer(PyObject* object) noexcept;

// "[2, 3]" of a tuple of ints; "" for anything else. May throw std::bad_alloc.
[[nodiscard]] std::string shape_text(PyObject* shape);

// "float32" of NumPy's letter for a kind and the bytes of an element; "" for unusual kinds. May
// throw std::bad_alloc.
[[nodiscard]] std::string dtype_text(char kind, std::int64_t bytes);

}  // namespace cyclewatch::device
