// SPDX-License-Identifier: Apache-2.0
// The extension module's surface; each bind_* adds one topic.
#include <pybind11/pybind11.h>

#include <exception>
#include <string>
#include <utility>

#include "bindings/bind_catalog.h"
#include "bindings/bind_report.h"
#include "bindings/bind_watch.h"
#include "bindings/forks.h"
#include "compat/features.h"
#include "python/layout_check.h"

namespace {

// From CPython 3.12 on the interpreter itself keeps modules such as this one out of
// subinterpreters. On 3.11 pybind11 would wait for the GIL on behalf of the main one, for ever: the
// importing thread holds it.
bool in_subinterpreter() {
    return PyInterpreterState_Get() != PyInterpreterState_Main();
}

// pybind11 has errors of its own for what the interpreter had no memory for: the MemoryError, which
// is pending, is the truth. Others are left to it.
void keep_memory_error(std::exception_ptr error) {
    if (PyErr_Occurred() == nullptr || PyErr_ExceptionMatches(PyExc_MemoryError) == 0) {
        std::rethrow_exception(std::move(error));
    }
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

// While it lives, the module has no __spec__. For the error that an attribute is missing, as those
// are that pybind11 is about to add, CPython from 3.13 on asks the spec where the module is from.
// That runs Python, and with it the program's signal handlers, and pybind11 drops what they raise.
class WithoutSpec {
  public:
    explicit WithoutSpec(const pybind11::module_& module)
        : names_(module.attr("__dict__")), spec_(names_.attr("pop")(kSpec, pybind11::none())) {}
    WithoutSpec(const WithoutSpec&) = delete;
    WithoutSpec& operator=(const WithoutSpec&) = delete;
    ~WithoutSpec() {
        if (PyDict_SetItemString(names_.ptr(), kSpec, spec_.ptr()) != 0) {
            PyErr_Clear();  // no memory
        }
    }

  private:
    static constexpr const char* kSpec = "__spec__";
    const pybind11::dict names_;
    const pybind11::object spec_;
};

}  // namespace

// PYBIND11_MODULE() in its two halves, because the first of them has room for this question.
PYBIND11_MODULE_PYINIT(_native, if (const char* reason = reason_to_refuse()) return refuse(reason);
                       pybind11::detail::get_num_interpreters_seen() += 1,
                       pybind11::mod_gil_not_used())
PYBIND11_MODULE_EXEC(_native, module) {
    const WithoutSpec without_spec(module);
    module.doc() = "The native part of cyclewatch. Use the package cyclewatch instead.";
    module.attr("__version__") = CYCLEWATCH_VERSION;
    cyclewatch::bindings::free_locks_in_children();
    pybind11::register_local_exception_translator(keep_memory_error);
    cyclewatch::bindings::bind_catalog(module);
    cyclewatch::bindings::bind_report(module);
    cyclewatch::bindings::bind_watch(module);
    refuse_to_pickle(module);
    if (!cyclewatch::python::prepare_layout_check()) {
        if (PyErr_ExceptionMatches(PyExc_MemoryError) == 0) {
            throw pybind11::error_already_set();
        }
        PyErr_Clear();  // the first watch tries again
    }
}
