// SPDX-License-Identifier: Apache-2.0
// Visits the code of a class: the methods of the class and its bases, including wrapped methods,
// and the functions and comprehensions nested in these methods.
//
// REQUIRES: GIL held, inside CollectionListener::on_unreachable(). RUNS PYTHON: never. Creates no
// Python objects. Visitors may throw.
#pragma once

#include <Python.h>

#include <string>
#include <string_view>

#include "capture/labelers/labelers.h"
#include "capture/labelers/text.h"
#include "compat/code_names.h"
#include "model/ids.h"

namespace cyclewatch::capture {

inline constexpr int kMaxNesting = 8;  // limit for nested functions and nested wrappers

// Returns the index of `name` in co_names, or -1.
[[nodiscard]] Py_ssize_t index_of_name(PyCodeObject* code, std::string_view name);

// Returns the source columns of the expression at the bytecode offset `offset`.
[[nodiscard]] inline model::ColumnRange columns_at(PyCodeObject* code, int offset) noexcept {
    int start = 0;
    int end = 0;
    if (cyclewatch_columns_at(code, offset, &start, &end) == 0) {
        return {};
    }
    return {static_cast<std::uint32_t>(start), static_cast<std::uint32_t>(end)};
}

// Returns a borrowed reference to the str constant of `code` that equals `name`; null if there is
// none.
[[nodiscard]] PyObject* constant_of_text(PyCodeObject* code, std::string_view name);

// Calls visit(class) for each class in the MRO of `type`, until visit() returns true.
template <typename Visit>
void visit_bases(PyTypeObject* type, Visit&& visit) {
    PyObject* const mro = type->tp_mro;
    for (Py_ssize_t i = 0; mro != nullptr && i < PyTuple_GET_SIZE(mro); ++i) {
        PyObject* const base = PyTuple_GET_ITEM(mro, i);
        if (PyType_Check(base) && visit(reinterpret_cast<PyTypeObject*>(base))) {
            return;
        }
    }
}

// True if `name` is the unqualified name of `type` or of one of its bases. `name` is a str or null.
// Returns false if out of memory.
[[nodiscard]] bool is_name_of(PyObject* name, PyTypeObject* type) noexcept;

// Calls visit(code, depth) for `code`, whose depth is 0, and for the functions and comprehensions
// nested in it.
template <typename Visit>
void visit_nested_code(PyCodeObject* code, Visit&& visit, int depth = 0) {
    visit(code, depth);
    PyObject* const constants = code->co_consts;
    for (Py_ssize_t i = 0; depth < kMaxNesting && i < PyTuple_GET_SIZE(constants); ++i) {
        PyObject* const constant = PyTuple_GET_ITEM(constants, i);
        if (PyCode_Check(constant)) {
            visit_nested_code(reinterpret_cast<PyCodeObject*>(constant), visit, depth + 1);
        }
    }
}

// Calls visit(code) for each function in `entry`, an entry of a class or module dict. `entry` may
// be a function, or a descriptor or wrapper that contains functions.
template <typename Visit>
void visit_functions(PyObject* entry, Visit& visit, int depth = 0) {
    if (entry == nullptr || depth > kMaxNesting) {
        return;
    }
    if (PyFunction_Check(entry)) {
        visit(reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(entry)));
    } else if (Py_IS_TYPE(entry, &PyStaticMethod_Type) || Py_IS_TYPE(entry, &PyClassMethod_Type)) {
        visit_functions(find_member(entry, "__func__"), visit, depth + 1);
        return;
    } else if (Py_IS_TYPE(entry, &PyProperty_Type)) {
        for (const char* part : {"fget", "fset", "fdel"}) {
            visit_functions(find_member(entry, part), visit, depth + 1);
        }
        return;
    } else if (PyType_Check(entry)) {
        return;
    }
    // `__wrapped__` is set by functools.wraps and lru_cache, `func` by functools.cached_property.
    for (const char* attribute : {"__wrapped__", "func"}) {
        if (PyObject* inner = find_attribute(entry, attribute); inner != nullptr) {
            visit_functions(inner, visit, depth + 1);
        }
    }
}

// Follows `__wrapped__` (functools.wraps()) from `function` to the original function. Borrowed.
[[nodiscard]] PyObject* unwrap_decorators(PyObject* function) noexcept;

// A function of a class, and its entry in the class's dict.
struct Method {
    PyObject* name;
    PyObject* entry;
    PyCodeObject* code;

    // If `of_class` is true, returns whether the first parameter is the class itself; if false,
    // whether it is an instance of the class.
    [[nodiscard]] bool gets_self(bool of_class) const noexcept {
        return !Py_IS_TYPE(entry, &PyStaticMethod_Type) &&
               of_class == (Py_IS_TYPE(entry, &PyClassMethod_Type) ||
                            equals_ascii(name, "__init_subclass__"));
    }
};

// Calls visit(Method) for each method defined in the class itself.
template <typename Visit>
void visit_methods(PyTypeObject* type, Visit&& visit) {
    if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) || type->tp_dict == nullptr) {
        return;
    }
    Py_ssize_t position = 0;
    PyObject* key = nullptr;
    PyObject* value = nullptr;
    while (PyDict_Next(type->tp_dict, &position, &key, &value) != 0) {
        const auto as_method = [&](PyCodeObject* code) { visit(Method{key, value, code}); };
        visit_functions(value, as_method);
    }
}

// Returns a borrowed reference to the namespace of the module `name`; null if the module is not
// imported or its namespace is too large.
[[nodiscard]] PyObject* globals_of_module(std::string_view name);

// True if `code` is `inner` or contains `inner` at any depth.
[[nodiscard]] bool contains_code(PyCodeObject* code, PyCodeObject* inner);

// The line passed to note(), if all calls passed the same line.
struct OnlyLine {
    PyCodeObject* code = nullptr;
    int line = 0;
    bool several = false;

    void note(PyCodeObject* of, int at) noexcept {
        several = several || (code != nullptr && line != at);
        code = of;
        line = at;
    }
    [[nodiscard]] bool is_known() const noexcept { return code != nullptr && !several; }
};

struct ModuleCode {
    PyCodeObject* code;
    bool is_method;  // the first parameter is an instance of the class, or the class
};

// Calls visit(ModuleCode) for the functions of a module and the methods of its classes. `globals`
// is the namespace of the module, or null.
template <typename Visit>
void visit_module_code(PyObject* globals, Visit&& visit) {
    const std::string module(Utf8Text(find_in_dict(globals, "__name__")).view());
    Py_ssize_t position = 0;
    PyObject* key = nullptr;
    PyObject* value = nullptr;
    while (globals != nullptr && PyDict_Next(globals, &position, &key, &value) != 0) {
        if (PyFunction_Check(value) && PyFunction_GET_GLOBALS(value) == globals) {
            const auto as_function = [&](PyCodeObject* code) { visit(ModuleCode{code, false}); };
            visit_functions(value, as_function);
        } else if (PyType_Check(value) &&
                   name_of_type(reinterpret_cast<PyTypeObject*>(value)).module == module) {
            visit_methods(reinterpret_cast<PyTypeObject*>(value), [&](const Method& method) {
                visit(ModuleCode{method.code, !Py_IS_TYPE(method.entry, &PyStaticMethod_Type)});
            });
        }
    }
}

}  // namespace cyclewatch::capture
