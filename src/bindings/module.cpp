// SPDX-License-Identifier: Apache-2.0
// The extension module's surface; each bind_* adds one topic.
#include <pybind11/pybind11.h>

#include <string>

#include "bindings/bind.h"
#include "bindings/forks.h"
#include "compat/features.h"

namespace {

// From CPython 3.12 on the interpreter itself keeps modules such as this one out of
// subinterpreters. On 3.11 pybind11 would wait for the GIL on behalf of the main one, for ever: the
// importing thread holds it.
bool in_subinterpreter() {
    return PyInterpreterState_Get() != PyInterpreterState_Main();
}

// Null if this interpreter may have the module. Where threads run without a GIL and the collector
// was never looked at, better no watch than a wrong or crashing one.
const char* reason_to_refuse() {
    if (in_subinterpreter()) {
        return "module cyclewatch._native does not support loading in subinterpreters";
    }
    if (!CYCLEWATCH_CAN_WATCH) {
        return "cyclewatch does not support this free-threaded version of CPython yet; run the "
               "program with 3.13t, or with the build of the same version that has a GIL";
    }
    return nullptr;
}

PyObject* refuse(const char* reason) {
    PyErr_SetString(PyExc_ImportError, reason);
    return nullptr;
}

// What pickle and copy ask for. `object` would answer for old protocols by making an instance of a
// base class that has no C++ object, which ends the process.
void refuse_to_pickle(pybind11::module_& module) {
    const auto raise = [](const pybind11::object& self, const pybind11::args&) {
        throw pybind11::type_error(
            "cannot pickle or copy a " +
            pybind11::type::of(self).attr("__name__").cast<std::string>() +
            ": Report.save() writes a report to a file, and Report.load() reads it back");
    };
    PyTypeObject* const metaclass = pybind11::detail::get_internals().default_metaclass;
    for (const auto& [name, value] : pybind11::dict(module.attr("__dict__"))) {
        if (Py_IS_TYPE(value.ptr(), metaclass)) {
            for (const char* method : {"__reduce__", "__reduce_ex__"}) {
                value.attr(method) = pybind11::cpp_function(
                    raise, pybind11::name(method), pybind11::is_method(value));
            }
        }
    }
}

}  // namespace

// Of another name than what the interpreter imports: PyInit__native() asks first. Python takes the
// module's name from its spec.
PYBIND11_MODULE(_native_if_supported, module, pybind11::mod_gil_not_used()) {
    module.doc() = "The native part of cyclewatch. Use the package cyclewatch instead.";
    module.attr("__version__") = CYCLEWATCH_VERSION;
    cyclewatch::bindings::free_locks_in_children();
    cyclewatch::bindings::bind_catalog(module);
    cyclewatch::bindings::bind_report(module);
    cyclewatch::bindings::bind_watch(module);
    refuse_to_pickle(module);
}

// The interpreter looks for this name.
extern "C" PYBIND11_EXPORT PyObject* PyInit__native() {  // NOLINT(readability-identifier-naming)
    const char* const reason = reason_to_refuse();
    return reason == nullptr ? PyInit__native_if_supported() : refuse(reason);
}
