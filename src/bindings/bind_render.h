// SPDX-License-Identifier: Apache-2.0
// Reports in and out of Python: to_text() and its siblings, save() and load().
#pragma once

#include <pybind11/pybind11.h>

#include "bindings/bind_report.h"

namespace cyclewatch::bindings {

// Adds the methods to `report_class`, and load_report() and format_names() to `module`.
void bind_render(pybind11::module_& module, ReportClass& report_class);

}  // namespace cyclewatch::bindings
