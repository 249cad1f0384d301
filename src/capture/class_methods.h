// SPDX-License-Identifier: Apache-2.0
// What the bytecode of a class's methods shows: whether it creates instances of another class, and
// which method ends the use of an instance.
//
// REQUIRES: GIL held. RUNS PYTHON: never. Creates no Python objects. May throw std::bad_alloc.
#pragma once

#include <Python.h>
#include <string>
#include <string_view>

namespace cyclewatch::capture {

// True if a method of `creator` calls `created` or one of its base classes with `self` as an
// argument. REQUIRES: inside CollectionListener::on_unreachable().
[[nodiscard]] bool creates(PyTypeObject* creator, PyTypeObject* created);

struct EndMethod {
    std::string_view name;  // e.g. "close"; a literal, empty if there is none
    std::string path;
    int line = 0;
};

// Returns the first of close, teardown, shutdown, release, stop and dispose that a Python class or
// its bases define as a function with a file, that needs no arguments, and that sets an attribute
// to None or calls a method named clear. For a context manager, the last condition does not apply,
// and __exit__ is also considered, as the last choice. Other methods with these names may do
// something else.
[[nodiscard]] EndMethod find_end_method(PyTypeObject* type);

}  // namespace cyclewatch::capture
