// SPDX-License-Identifier: Apache-2.0
// A function of a class that takes no instance.
//
// pybind11's def_static() wraps it in a staticmethod, and from CPython 3.15 on making one runs
// pending signal handlers. What one of them raises would end the import of the module, which cannot
// be repeated. A built-in function needs no wrapping: found through an instance, it is not bound to
// it either.
//
// REQUIRES: GIL held.
#pragma once

#include <pybind11/pybind11.h>

#include <utility>

namespace cyclewatch::bindings {

template <typename Class, typename Function, typename... Extra>
void define_static(Class& added, const char* name, Function&& function, const Extra&... extra) {
    added.attr(name) = pybind11::cpp_function(
        std::forward<Function>(function), pybind11::name(name), pybind11::scope(added), extra...);
}

}  // namespace cyclewatch::bindings
