// SPDX-License-Identifier: Apache-2.0
// The method by which the users of an object say that they are done with it.
#pragma once

#include <Python.h>

#include <string>
#include <string_view>

namespace cyclewatch::capture {

struct EndMethod {
    std::string_view name;  // "close"; static text, empty if there is none
    std::string path;
    int line = 0;
};

// The first of close, teardown, shutdown, release, stop, dispose and __exit__ that a class written
// in Python defines as a function with a file. REQUIRES: GIL held. RUNS PYTHON: never. Creates no
// object that the collector tracks. Throws std::bad_alloc.
[[nodiscard]] EndMethod find_end_method(PyTypeObject* type);

}  // namespace cyclewatch::capture
