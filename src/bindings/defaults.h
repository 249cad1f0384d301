// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/pybind11.h>

#include <utility>

namespace cyclewatch::bindings {

// An argument with a default value, and how the docstring writes that. Left to itself, pybind11
// asks the value for its repr() while the module is made. CPython runs the program's signal
// handlers there: what one raised would leave a module that is half made and cannot be made again.
template <typename Value>
pybind11::arg_v with_default(const char* name, Value&& value, const char* text) {
    return pybind11::arg_v(name, std::forward<Value>(value), text);
}

}  // namespace cyclewatch::bindings
