// SPDX-License-Identifier: Apache-2.0
// Analyzes the bytecode of a class's methods: whether it creates instances of another class, and
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

// Returns the first suitable method of close, teardown, shutdown, release, stop and dispose. A
// Python class or one of its bases must define it as a function with a file. It must need no
// arguments, and set an attribute to None or call a method named clear. The last condition does not
// apply to a context manager, for which __exit__ is also considered, as the last choice. Other
// methods with these names may do something else.
[[nodiscard]] EndMethod find_end_method(PyTypeObject* type);

}  // namespace cyclewatch::capture
