// SPDX-License-Identifier: Apache-2.0
// How plain data of the model looks from Python. What is not known is None.
//
// REQUIRES (everything here): GIL held.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cyclewatch::bindings {

namespace py = pybind11;

// A list of views into `items`, each of which keeps `whole` alive.
template <typename Whole, typename Item>
py::list views(const std::shared_ptr<Whole>& whole, std::vector<Item>& items) {
    py::list list;
    for (Item& item : items) {
        list.append(std::shared_ptr<Item>(whole, &item));
    }
    return list;
}

inline py::object text_or_none(const std::string& text) {
    return text.empty() ? py::object(py::none()) : py::object(py::str(text));
}

inline py::object step_or_none(std::int64_t step) {
    return step < 0 ? py::object(py::none()) : py::object(py::int_(step));
}

// Hides `_native` in `__module__`.
template <typename Class>
Class& of_package(Class& added) {
    added.attr("__module__") = "cyclewatch";
    return added;
}

inline std::string quoted(const std::string& text) {
    return py::repr(py::str(text));
}

}  // namespace cyclewatch::bindings
