// SPDX-License-Identifier: Apache-2.0
#include "capture/class_code.h"

#include <new>

#include "base/text.h"

namespace cyclewatch::capture {

namespace {

constexpr Py_ssize_t kMaxEntries = 4'000;  // larger modules are not searched

Py_ssize_t index_of_text(PyObject* tuple, std::string_view text) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
        PyObject* const candidate = PyTuple_GET_ITEM(tuple, i);
        if (!PyUnicode_CheckExact(candidate)) {
            continue;
        }
        const bool equal = PyUnicode_IS_COMPACT_ASCII(candidate)
                               ? equals_ascii(candidate, text)
                               : Utf8Text(candidate).view() == text;
        if (equal) {
            return i;
        }
    }
    return -1;
}

}  // namespace

Py_ssize_t index_of_name(PyCodeObject* code, std::string_view name) {
    return index_of_text(code->co_names, name);
}

PyObject* constant_of_text(PyCodeObject* code, std::string_view name) {
    const Py_ssize_t index = index_of_text(code->co_consts, name);
    return index < 0 ? nullptr : PyTuple_GET_ITEM(code->co_consts, index);
}

PyObject* unwrap_decorators(PyObject* function) noexcept {
    for (int depth = 0; depth < kMaxNesting; ++depth) {
        PyObject* const wrapped = find_attribute(function, "__wrapped__");
        if (wrapped == nullptr || !PyFunction_Check(wrapped)) {
            break;
        }
        function = wrapped;
    }
    return function;
}

PyObject* globals_of_module(std::string_view name) {
    PyObject* const module = find_in_dict(PyImport_GetModuleDict(), name);
    PyObject* const globals =
        module != nullptr && PyModule_Check(module) ? PyModule_GetDict(module) : nullptr;
    return globals != nullptr && PyDict_GET_SIZE(globals) <= kMaxEntries ? globals : nullptr;
}

bool contains_code(PyCodeObject* code, PyCodeObject* inner) {
    bool found = false;
    visit_nested_code(
        code, [&](PyCodeObject* nested, int /*depth*/) { found = found || nested == inner; });
    return found;
}

bool is_name_of(PyObject* name, PyTypeObject* type) noexcept try {
    if (name == nullptr) {
        return false;
    }
    const Utf8Text text(name);
    bool found = false;
    visit_bases(type, [&](PyTypeObject* ancestor) {
        found = ancestor != &PyBaseObject_Type && base::last_part(ancestor->tp_name) == text.view();
        return found;
    });
    return found;
} catch (const std::bad_alloc&) {
    return false;
}

}  // namespace cyclewatch::capture
