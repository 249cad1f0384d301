// SPDX-License-Identifier: Apache-2.0
// Registers the Python classes and functions of the extension module. Each topic has its own
// bind_<topic>.cpp.
//
// REQUIRES (everything here): GIL held.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>

#include "model/report.h"
#include "python/state_lock.h"

namespace cyclewatch::bindings {

// Call guard for functions that access module state. Arguments and results are converted outside
// the lock, because the conversion may run Python code. pybind11 applies a call guard to a property
// only if the getter is an explicit cpp_function.
using Locked = pybind11::call_guard<python::StateLock>;

using ReportClass = pybind11::class_<model::Report, std::shared_ptr<model::Report>>;

// Pattern, patterns(), configure(), ignore().
void bind_catalog(pybind11::module_& module);

// Finding and its parts: Reference, Owner, Variant, ProcessOccurrences.
void bind_finding(pybind11::module_& module);

// DeviceRecord, MemoryBreakdown, query_cuda().
void bind_devices(pybind11::module_& module);

// Report and its parts. Calls bind_finding(), bind_devices() and bind_render(). The Python objects
// for parts of a report are views into the report and keep it alive. Therefore a model::Report must
// not change once a Python object refers to it.
void bind_report(pybind11::module_& module);

// report_fields(), the fields of a report.
void bind_field_table(pybind11::module_& module);

// Adds the to_<format>() methods, save() and load() to `report_class`. Adds load_report(),
// write_file(), format_names() and text helpers to `module`.
void bind_render(pybind11::module_& module, ReportClass& report_class);

// Path, PathRoot, why_alive(). Call after bind_report(), which binds Reference.
void bind_retention(pybind11::module_& module);

// NativeWatch, start_watch(), register_owner(). Calls bind_process_watch() and bind_scan().
void bind_watch(pybind11::module_& module);

// The functions for cyclewatch/process_watch.py, and those that act on all watches.
void bind_process_watch(pybind11::module_& module);
// Installs the hooks that learn of out-of-memory errors and failures, if that is possible by now.
// The program may have imported a library or initialized CUDA since the last call.
void observe_failures();

// AccountRecord, account_report().
void bind_account(pybind11::module_& module);

// scan(), never_freed() and the lists of storages and owners.
void bind_scan(pybind11::module_& module);

}  // namespace cyclewatch::bindings
