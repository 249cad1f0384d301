// SPDX-License-Identifier: Apache-2.0
// For callable objects (functools.partial, wrappers), finds the called function and a source line.
//
// REQUIRES: GIL held, inside CollectionListener::on_unreachable(). RUNS PYTHON: never. Creates no
// Python objects. May throw std::bad_alloc.
#pragma once

#include <Python.h>

#include <cstdint>
#include <string>

namespace cyclewatch::capture {

// Returns a borrowed reference to the Python function that a function, bound method or partial
// ultimately calls; null if there is none.
[[nodiscard]] PyObject* underlying_function(PyObject* callable) noexcept;

// For a callable, returns the globals of its underlying function; for any other object, the
// namespace of the module that defines its class. Borrowed; null if unknown.
[[nodiscard]] PyObject* globals_of(PyObject* object);

struct CallableSite {
    std::string path;  // "" if unknown
    std::uint32_t line = 0;
    bool is_creation = false;  // false: the line is the definition of the function
};

// Returns the line that creates the partial. Searches the module of the called function for calls
// to `partial` that pass this function by name, and then for calls in functions that enclose its
// definition. If neither search finds exactly one line, returns the line of the called function's
// definition.
[[nodiscard]] CallableSite site_of_partial(PyObject* partial);

}  // namespace cyclewatch::capture
