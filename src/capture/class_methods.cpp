// SPDX-License-Identifier: Apache-2.0
#include "capture/class_methods.h"

#include <array>

#include "bytecode/attribute_stores.h"
#include "capture/class_code.h"
#include "capture/labelers/text.h"
#include "compat/code_names.h"

namespace cyclewatch::capture {
namespace {

// The index of the variable `name` in `code`; -1 if there is none.
int variable_number(PyCodeObject* code, PyObject* name) {
    for (Py_ssize_t i = 0; i < cyclewatch_variable_count(code); ++i) {
        if (cyclewatch_variable_name(code, i) == name) {
            return static_cast<int>(i);
        }
    }
    return -1;
}

// True if the code contains the name of the class or of a base class. Most code does not contain
// these names and need not be analyzed.
bool mentions(PyCodeObject* code, PyTypeObject* type) {
    bool found = false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code->co_names) && !found; ++i) {
        found = is_name_of(PyTuple_GET_ITEM(code->co_names, i), type);
    }
    for (Py_ssize_t i = 0; i < cyclewatch_variable_count(code) && !found; ++i) {
        found = is_name_of(cyclewatch_variable_name(code, i), type);
    }
    return found;
}

// True if `code` calls the class `created` with the variable `self` as an argument.
bool creates_in(PyCodeObject* code, PyTypeObject* created, PyObject* self) {
    const int variable = variable_number(code, self);
    return variable >= 0 && mentions(code, created) &&
           bytecode::visit_calls(code, [&](const bytecode::Operand& called, int /*offset*/) {
               return called.received(variable) && is_name_of(called.name, created);
           });
}

constexpr std::array<std::string_view, 6> kNames{
    "close", "teardown", "shutdown", "release", "stop", "dispose"};
constexpr std::string_view kExit = "__exit__";

// True for a method that can be called without arguments.
bool needs_no_arguments(PyObject* function, PyCodeObject* code) {
    const auto* const defaults = reinterpret_cast<PyFunctionObject*>(function)->func_defaults;
    const Py_ssize_t optional = defaults == nullptr ? 0 : Py_SIZE(defaults);
    return code->co_argcount - optional <= 1 && code->co_kwonlyargcount == 0;
}

// True if the code sets an attribute to None or clears a container.
bool clears(PyCodeObject* code) {
    bool found = index_of_name(code, "clear") >= 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code->co_names) && !found; ++i) {
        found = bytecode::visit_stores(
            code, {i, nullptr}, [](const bytecode::AttributeStore& store, int /*offset*/) {
                return store.value.constant == Py_None;
            });
    }
    return found;
}

// Returns the code of the method `name` of `type` or its bases; null if the method is not a Python
// function or its code has no source file.
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

bool creates(PyTypeObject* creator, PyTypeObject* created) {
    bool found = false;
    visit_bases(creator, [&](PyTypeObject* base) {
        visit_methods(base, [&](const Method& method) {
            if (!has_file(method.code) || !method.gets_self(false) ||
                method.code->co_argcount == 0) {
                return;
            }
            PyObject* const self = cyclewatch_variable_name(method.code, 0);
            visit_nested_code(method.code, [&](PyCodeObject* code, int /*depth*/) {
                found = found || creates_in(code, created, self);
            });
        });
        return found;
    });
    return found;
}

MethodPlace find_call_method(PyTypeObject* type) {
    PyObject* function = nullptr;
    PyCodeObject* const code = code_of_method(type, "__call__", &function);
    return code == nullptr ? MethodPlace{} : MethodPlace{path_of(code), code->co_firstlineno};
}

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
