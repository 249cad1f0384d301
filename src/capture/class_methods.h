// SPDX-License-Identifier: Apache-2.0
// Analyzes the bytecode of a class's methods. Determines whether the class creates instances of
// another class, and finds the method, such as close(), that a program calls when it no longer
// needs an instance.
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

struct MethodPlace {
    std::string path;  // "" if the method is not a Python function with a source file
    int line = 0;
};

// The method `__call__` of `type` or of one of its bases.
[[nodiscard]] MethodPlace find_call_method(PyTypeObject* type);

struct EndMethod {
    std::string_view name;  // e.g. "close"; a literal, empty if there is none
    std::string path;
    int line = 0;
};

// Returns the first suitable method among close, teardown, shutdown, release, stop and dispose. The
// method must be a Python function that has a source file and needs no arguments. Unless the class
// is a context manager, the method must also set an attribute to None or call a method named clear.
// Any other method may be unrelated to the object's references. For a context manager, __exit__ is
// the last resort.
[[nodiscard]] EndMethod find_end_method(PyTypeObject* type);

}  // namespace cyclewatch::capture
