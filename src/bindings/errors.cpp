// SPDX-License-Identifier: Apache-2.0
#include "bindings/errors.h"

#include <pybind11/pybind11.h>

#include <cerrno>

namespace py = pybind11;

namespace cyclewatch::bindings {

void raise_report_format_error(const std::string& message) {
    const py::object error_class =
        py::module_::import("cyclewatch.errors").attr("ReportFormatError");
    PyErr_SetString(error_class.ptr(), message.c_str());
    throw py::error_already_set();
}

void raise_os_error(int error_number, const std::string& path) {
    const py::object file_name = py::reinterpret_steal<py::object>(
        PyUnicode_DecodeFSDefaultAndSize(path.data(), static_cast<Py_ssize_t>(path.size())));
    errno = error_number;
    PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, file_name.ptr());
    throw py::error_already_set();
}

}  // namespace cyclewatch::bindings
