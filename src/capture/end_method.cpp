// SPDX-License-Identifier: Apache-2.0
#include "capture/end_method.h"

#include <array>

#include "capture/class_code.h"
#include "capture/labelers/text.h"
#include "compat/attribute_stores.h"

namespace cyclewatch::capture {
namespace {

constexpr std::array<std::string_view, 6> kNames{
    "close", "teardown", "shutdown", "release", "stop", "dispose"};
constexpr std::string_view kExit = "__exit__";

// True for a method that can be called without arguments.
bool needs_no_arguments(PyObject* function, PyCodeObject* code) {
    const auto* const defaults = reinterpret_cast<PyFunctionObject*>(function)->func_defaults;
    const Py_ssize_t optional = defaults == nullptr ? 0 : Py_SIZE(defaults);
    return code->co_argcount - optional <= 1 && code->co_kwonlyargcount == 0;
}

int is_store_of_none(const cyclewatch_store* store, void* /*arg*/) noexcept {
    return store->value.constant == Py_None ? 1 : 0;
}

// True if the code sets an attribute to None or clears a container.
bool clears(PyCodeObject* code) {
    bool found = index_of_name(code, "clear") >= 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code->co_names) && !found; ++i) {
        found = cyclewatch_visit_stores(code, {i, nullptr}, is_store_of_none, nullptr) != 0;
    }
    return found;
}

// The code of a method that a Python class or its bases define; null if the entry is something
// else, or the code has no file.
PyCodeObject* code_of_method(PyTypeObject* type, std::string_view name, PyObject** function) {
    PyCodeObject* code = nullptr;
    visit_bases(type, [&](PyTypeObject* base) {
        if (!PyType_HasFeature(base, Py_TPFLAGS_HEAPTYPE) || base->tp_dict == nullptr) {
            return false;
        }
        PyObject* const entry = find_in_dict(base->tp_dict, name);
        if (entry != nullptr && PyFunction_Check(entry)) {
            *function = unwrap_decorators(entry);
            code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(*function));
        }
        return entry != nullptr;
    });
    return code != nullptr && has_file(code) ? code : nullptr;
}

}  // namespace

EndMethod find_end_method(PyTypeObject* type) {
    PyObject* function = nullptr;
    PyCodeObject* const exit = code_of_method(type, kExit, &function);
    for (const std::string_view name : kNames) {
        PyCodeObject* const code = code_of_method(type, name, &function);
        if (code != nullptr && needs_no_arguments(function, code) &&
            (exit != nullptr || clears(code))) {
            return {name, path_of(code), code->co_firstlineno};
        }
    }
    return exit == nullptr ? EndMethod{} : EndMethod{kExit, path_of(exit), exit->co_firstlineno};
}

}  // namespace cyclewatch::capture
