// SPDX-License-Identifier: Apache-2.0
// The report as Python sees it: read-only views that keep their report alive.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>

#include "model/report.h"

namespace cyclewatch::bindings {

using ReportClass = pybind11::class_<model::Report, std::shared_ptr<model::Report>>;

// Adds Report and what it is made of to `module`, those of bind_finding.h too, and what
// bind_render.h adds to Report. Nothing may change a model::Report once Python has seen it:
// the views point into it.
void bind_report(pybind11::module_& module);

}  // namespace cyclewatch::bindings
