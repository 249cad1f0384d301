// SPDX-License-Identifier: Apache-2.0
#include "bindings/errors.h"

#include <pybind11/pybind11.h>

namespace py = pybind11;

namespace cyclewatch::bindings {

void raise_report_format_error(const std::string& message) {
    const py::object error_class =
        py::module_::import("cyclewatch.errors").attr("ReportFormatError");
    PyErr_SetString(error_class.ptr(), message.c_str());
    throw py::error_already_set();
}

}  // namespace cyclewatch::bindings
