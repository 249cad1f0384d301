// SPDX-License-Identifier: Apache-2.0
// Reads attributes of other libraries' objects without running Python code. C descriptors are
// called directly, and instance attributes are read from the interpreter's internal structures.
// Never uses `getattr`, so Python code that overrides an attribute is ignored.
//
// Everything here: REQUIRES: GIL held. RUNS PYTHON: never; only C getters of the object's library.
// Leaves no Python error set.
#pragma once

#include <Python.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "python/references.h"

namespace cyclewatch::device {

// The name of an attribute; null if out of memory.
[[nodiscard]] python::OwnedRef interned(const char* name) noexcept;

// The attribute `name` that `type` or a base defines, borrowed; null if there is none. Not found if
// a builtin type defines it.
[[nodiscard]] PyObject* class_attribute(PyTypeObject* type, PyObject* name) noexcept;

// True if `attribute` is a getset or member descriptor of a C type.
[[nodiscard]] bool is_c_attribute(PyObject* attribute) noexcept;

// The value of the C attribute `name`, as defined or inherited by `type`, which must be the
// object's type or a base of it. Null if there is no such attribute, if it is defined in Python, or
// if its getter raised.
[[nodiscard]] python::OwnedRef c_attribute(PyTypeObject* type,
                                           PyObject* object,
                                           PyObject* name) noexcept;
[[nodiscard]] python::OwnedRef c_attribute(PyObject* object, PyObject* name) noexcept;

// The instance attribute `name`, borrowed; null if there is none.
[[nodiscard]] PyObject* instance_attribute(PyObject* object, const char* name) noexcept;

// The value for the str key `name`, borrowed; null if `dict` is null, is not a dict, or has no
// such key. Compares only str keys, because an ordinary lookup could run the __eq__ of another key.
[[nodiscard]] PyObject* entry(PyObject* dict, const char* name) noexcept;

// An exact str as UTF-8; empty for any other object, for null, and for a str with a lone surrogate.
// Valid as long as the str exists, because a non-ASCII str caches its UTF-8 text.
[[nodiscard]] std::string_view utf8(PyObject* text) noexcept;

// The value of an exact int that fits into 64 bits; nullopt for any other object, and for null.
[[nodiscard]] std::optional<std::int64_t> integer(PyObject* object) noexcept;

// The text of a tuple of ints, such as "[2, 3]"; "" for any other object. An item that is not an
// exact int, such as a symbolic size of torch, is written as "?". May throw std::bad_alloc.
[[nodiscard]] std::string shape_text(PyObject* shape);

// The name of a NumPy dtype, such as "float32" for the kind 'f' and 4 bytes; "" for unusual kinds.
// May throw std::bad_alloc.
[[nodiscard]] std::string dtype_text(char kind, std::int64_t bytes);

}  // namespace cyclewatch::device
