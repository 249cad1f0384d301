// SPDX-License-Identifier: Apache-2.0
// The location of callables stored in objects (functools.partial, wrappers).
//
// REQUIRES: GIL held, inside CollectionListener::on_unreachable(). RUNS PYTHON: never. Creates no
// Python objects. May throw std::bad_alloc.
#pragma once

#include <Python.h>

#include <cstdint>
#include <string>

namespace cyclewatch::capture {

// Returns the Python function that a function, bound method or partial ultimately calls, borrowed;
// null if there is none.
[[nodiscard]] PyObject* underlying_function(PyObject* callable) noexcept;

// Returns a namespace, borrowed. For a callable, this is the globals of its function; for any other
// object, the namespace of the module that defines its class. Returns null if the namespace is
// unknown.
[[nodiscard]] PyObject* globals_of(PyObject* object);

struct CallableSite {
    std::string path;  // "" if unknown
    std::uint32_t line = 0;
    bool is_creation = false;  // false: the line is the definition of the function
};

// Returns the line that creates the partial. Searches the module of the called function for a
// single call to `partial` that has the name of the called function as an argument, or that is in
// the function that defines the called function. Otherwise returns the line of the function's
// definition.
[[nodiscard]] CallableSite site_of_partial(PyObject* partial);

}  // namespace cyclewatch::capture
