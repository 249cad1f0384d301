// SPDX-License-Identifier: Apache-2.0
// The topics of the extension module, one bind_<topic>.cpp each.
//
// REQUIRES (everything here): GIL held.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>

#include "model/report.h"
#include "python/state_lock.h"

namespace cyclewatch::bindings {

// Functions that touch the state of the module are bound with Locked(), properties by a
// cpp_function that is. The conversion of arguments and results, which may run Python, is outside.
using Locked = pybind11::call_guard<python::StateLock>;

using ReportClass = pybind11::class_<model::Report, std::shared_ptr<model::Report>>;

// The patterns, and the configuration.
void bind_catalog(pybind11::module_& module);

// A finding and what it is made of: references, owners, occurrences by process.
void bind_finding(pybind11::module_& module);

// The report and what it is made of: read-only views that keep their report alive. Nothing may
// change a model::Report once Python has seen it: the views point into it. Calls bind_finding() and
// bind_render().
void bind_report(pybind11::module_& module);

// Reports in and out of Python: adds to_text() and its siblings, save() and load() to
// `report_class`, and load_report() and format_names() to `module`.
void bind_render(pybind11::module_& module, ReportClass& report_class);

// Watches and owners: start_watch(), NativeWatch, register_owner().
void bind_watch(pybind11::module_& module);

}  // namespace cyclewatch::bindings
