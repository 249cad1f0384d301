// SPDX-License-Identifier: Apache-2.0
// Getters that convert members of the structs in src/model to Python objects. An unknown value is
// None.
//
// REQUIRES (everything here): GIL held.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <string>
#include <vector>

#include "device/device_selection.h"
#include "device/torch_layout.h"
#include "model/enum_words.h"

namespace cyclewatch::bindings {

namespace py = pybind11;

// A list of views into `items`; each view keeps `parent` alive.
template <typename Parent, typename Item>
py::list views(const std::shared_ptr<Parent>& parent, std::vector<Item>& items) {
    py::list list;
    for (Item& item : items) {
        list.append(std::shared_ptr<Item>(parent, &item));
    }
    return list;
}

inline py::object text_or_none(const std::string& text) {
    return text.empty() ? py::object(py::none()) : py::object(py::str(text));
}

// Throws ValueError if a device name is invalid.
device::DeviceSelection selected(const std::vector<std::string>& devices);

// Converts the result of cyclewatch.proofs.torch_layout.torch_layout().
device::TorchLayout layout_from(const py::dict& found);
// Why kinds of references in this result cannot be used: sentences.
std::vector<std::string> failures_in(const py::dict& layout);

inline constexpr const char* kShapeDoc =
    "The dimensions, outermost first; None if the owner has no shape.";
// "[2, 3]" -> (2, 3). Symbolic dimensions and other text remain strings. None for "".
py::object shape_or_none(const std::string& text);

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
