// SPDX-License-Identifier: Apache-2.0
// Where callables that objects keep were made: functools.partial, wrappers.
//
// REQUIRES: GIL held, inside CollectionListener::on_unreachable(). RUNS PYTHON: never. Creates no
// Python object at all. May throw std::bad_alloc.
#pragma once

#include <Python.h>

#include <cstdint>
#include <string>

namespace cyclewatch::capture {

// The Python function that a function, bound method or partial calls in the end; null if there is
// none. Borrowed.
[[nodiscard]] PyObject* function_behind(PyObject* callable) noexcept;

// The namespace of the module of a callable's function, or of the class of any other object; null
// if that is not known. Borrowed.
[[nodiscard]] PyObject* globals_behind(PyObject* object);

struct CallableSite {
    std::string path;  // "": not known
    std::uint32_t line = 0;
    bool is_creation = false;  // false: the definition of the function
};

// The line that makes the partial, in the module of its function: the only one that calls `partial`
// with the name of that function, or in the function that defines that function. Else the line of
// the definition.
[[nodiscard]] CallableSite site_of_partial(PyObject* partial);

}  // namespace cyclewatch::capture
