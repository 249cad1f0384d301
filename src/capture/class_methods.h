// SPDX-License-Identifier: Apache-2.0
// Analyzes the bytecode of a class's methods to determine whether the class creates instances of
// another class, and which method ends the use of an instance.
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

// Returns the first suitable method of close, teardown, shutdown, release, stop and dispose. The
// method must be a Python function with a source file that needs no arguments. It must set an
// attribute to None or call a method named clear, because other methods with these names may have
// nothing to do with the object's references. Context managers are exempt from this condition; for
// them, __exit__ is the last choice.
[[nodiscard]] EndMethod find_end_method(PyTypeObject* type);

}  // namespace cyclewatch::capture
