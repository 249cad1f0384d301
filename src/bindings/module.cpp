// SPDX-License-Identifier: Apache-2.0
// The extension module's surface; each bind_* adds one topic.
#include <pybind11/pybind11.h>

#include "bindings/bind_catalog.h"
#include "bindings/bind_program.h"
#include "bindings/bind_report.h"
#include "bindings/bind_watch.h"

PYBIND11_MODULE(_native, module) {
    module.doc() = "The native part of cyclewatch. Use the package cyclewatch instead.";
    module.attr("__version__") = CYCLEWATCH_VERSION;
    cyclewatch::bindings::bind_catalog(module);
    cyclewatch::bindings::bind_report(module);
    cyclewatch::bindings::bind_watch(module);
    cyclewatch::bindings::bind_program(module);
}
