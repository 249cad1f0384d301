// SPDX-License-Identifier: Apache-2.0
#include "bindings/errors.h"

#include <pybind11/pybind11.h>

namespace py = pybind11;

namespace cyclewatch::bindings {

void raise_report_format_error(const std::string& message) {
    const py::object error_class =
        py::module_::import("cyclewatch.errors").attr("ReportFormatError");
    // The name of the file need not be valid text.
    const auto text = py::reinterpret_steal<py::object>(
        PyUnicode_DecodeUTF8(message.data(), static_cast<Py_ssize_t>(message.size()), "replace"));
    if (text) {
        PyErr_SetObject(error_class.ptr(), text.ptr());
    }
    throw py::error_already_set();
}

}  // namespace cyclewatch::bindings
