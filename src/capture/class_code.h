// SPDX-License-Identifier: Apache-2.0
// The code that a class consists of: its bases, its methods under their wrappers, and the functions
// and comprehensions within these.
//
// REQUIRES: GIL held, inside CollectionListener::on_unreachable(). RUNS PYTHON: never. Creates no
// Python object at all. Visitors may throw.
#pragma once

#include <Python.h>

#include <string>
#include <string_view>

#include "capture/labelers/labelers.h"
#include "capture/labelers/text.h"

namespace cyclewatch::capture {

inline constexpr int kMostNested = 8;  // functions within functions, wrappers of wrappers

// Index of `name` in co_names, or -1: then the code has no such `.name`.
[[nodiscard]] Py_ssize_t index_of_name(PyCodeObject* code, std::string_view name);

// `name` among the constants of the code, borrowed, or null.
[[nodiscard]] PyObject* constant_of_text(PyCodeObject* code, std::string_view name);

// The classes of `type`'s MRO, `type` first, until visit(class) returns true.
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

// True for the plain name of a class that `type` is or derives from. `name`: a str, or null. Where
// there is no memory to compare, false.
[[nodiscard]] bool is_name_of(PyObject* name, PyTypeObject* type) noexcept;

// The code of the functions and comprehensions within `code`, which is `depth` deep itself.
template <typename Visit>
void visit_inner_code(PyCodeObject* code, int depth, Visit&& visit) {
    PyObject* const constants = code->co_consts;
    for (Py_ssize_t i = 0; depth < kMostNested && i < PyTuple_GET_SIZE(constants); ++i) {
        PyObject* const constant = PyTuple_GET_ITEM(constants, i);
        if (PyCode_Check(constant)) {
            visit(reinterpret_cast<PyCodeObject*>(constant));
        }
    }
}

// Calls visit(code) for every function that `entry` of a class or module stands for: as it is, or
// inside descriptors and wrappers.
template <typename Visit>
void visit_functions(PyObject* entry, Visit& visit, int depth = 0) {
    if (entry == nullptr || depth > kMostNested) {
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
    // functools.wraps, lru_cache; functools.cached_property and its kind.
    for (const char* attribute : {"__wrapped__", "func"}) {
        if (PyObject* inner = find_attribute(entry, attribute); inner != nullptr) {
            visit_functions(inner, visit, depth + 1);
        }
    }
}

// The function that functools.wraps() says `function` stands for, or itself: who reads a method's
// name means the one behind its decorators. Borrowed.
[[nodiscard]] PyObject* behind_decorators(PyObject* function) noexcept;

// A function of a class, and the entry of the class's dict that it was found in.
struct Method {
    PyObject* name;
    PyObject* entry;
    PyCodeObject* code;

    // True if the first parameter is the class (`of_class`) or an instance of it.
    [[nodiscard]] bool gets_self(bool of_class) const noexcept {
        return !Py_IS_TYPE(entry, &PyStaticMethod_Type) &&
               of_class == (Py_IS_TYPE(entry, &PyClassMethod_Type) ||
                            equals_ascii(name, "__init_subclass__"));
    }
};

// visit(Method) for each that is written in the class itself.
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

// The namespace of an imported module, borrowed; null if there is none, or one too large to search.
[[nodiscard]] PyObject* globals_of_module(std::string_view name);

// True if `code` is `inner` or defines it, at any depth.
[[nodiscard]] bool contains_code(PyCodeObject* code, PyCodeObject* inner, int depth = 0);

// The one line of those that were noted; more than one leave it open.
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
    bool is_method;
};

// visit(ModuleCode) for the functions and the methods of the classes that a module defines.
// `globals`: its namespace, or null.
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
                visit(ModuleCode{method.code, true});
            });
        }
    }
}

}  // namespace cyclewatch::capture
