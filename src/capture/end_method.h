// SPDX-License-Identifier: Apache-2.0
// The method that ends the use of an object.
#pragma once

#include <Python.h>

#include <string>
#include <string_view>

namespace cyclewatch::capture {

struct EndMethod {
    std::string_view name;  // e.g. "close"; a literal, empty if there is none
    std::string path;
    int line = 0;
};

// Returns the first of close, teardown, shutdown, release, stop, dispose and __exit__ that a Python
// class or its bases define as a function with a file. REQUIRES: GIL held. RUNS PYTHON: never.
// Creates no Python objects. May throw std::bad_alloc.
[[nodiscard]] EndMethod find_end_method(PyTypeObject* type);

}  // namespace cyclewatch::capture
