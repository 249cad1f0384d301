// SPDX-License-Identifier: Apache-2.0
#include "device/readers/plain_attributes.h"

#include "compat/object_layout.h"

namespace cyclewatch::device {

namespace {

struct NameSearch {
    const char* name;
    PyObject* found = nullptr;
};

int find_name(PyObject* name, PyObject* value, void* argument) noexcept {
    auto& search = *static_cast<NameSearch*>(argument);
    if (!PyUnicode_CheckExact(name) || PyUnicode_CompareWithASCIIString(name, search.name) != 0) {
        return 0;
    }
    search.found = value;
    return 1;
}

}  // namespace

PyObject* class_attribute(PyTypeObject* type, PyObject* name) noexcept {
    PyObject* const mro = type->tp_mro;
    if (mro == nullptr || name == nullptr) {
        return nullptr;
    }
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(mro); ++index) {
        // Static builtin types store their dict elsewhere, but do not have any of these attributes.
        PyObject* const dict =
            reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(mro, index))->tp_dict;
        PyObject* const value = dict == nullptr ? nullptr : PyDict_GetItemWithError(dict, name);
        if (value != nullptr) {
            return value;
        }
    }
    PyErr_Clear();
    return nullptr;
}

python::OwnedRef interned(const char* name) noexcept {
    return python::steal(PyUnicode_InternFromString(name));
}

bool is_c_attribute(PyObject* attribute) noexcept {
    return attribute != nullptr && (Py_IS_TYPE(attribute, &PyGetSetDescr_Type) ||
                                    Py_IS_TYPE(attribute, &PyMemberDescr_Type));
}

python::OwnedRef c_attribute(PyTypeObject* type, PyObject* object, PyObject* name) noexcept {
    PyObject* const attribute = class_attribute(type, name);
    if (!is_c_attribute(attribute)) {
        return {};
    }
    python::OwnedRef value = python::steal(Py_TYPE(attribute)->tp_descr_get(
        attribute, object, reinterpret_cast<PyObject*>(Py_TYPE(object))));
    PyErr_Clear();
    return value;
}

python::OwnedRef c_attribute(PyObject* object, PyObject* name) noexcept {
    return c_attribute(Py_TYPE(object), object, name);
}

PyObject* entry(PyObject* dict, const char* name) noexcept {
    if (dict == nullptr || !PyDict_Check(dict)) {
        return nullptr;
    }
    NameSearch search{.name = name};
    Py_ssize_t position = 0;
    PyObject* key = nullptr;
    PyObject* value = nullptr;
    while (PyDict_Next(dict, &position, &key, &value) != 0) {
        if (find_name(key, value, &search) != 0) {
            return search.found;
        }
    }
    return nullptr;
}

PyObject* instance_attribute(PyObject* object, const char* name) noexcept {
    NameSearch search{.name = name};
    if (cyclewatch_visit_attribute_values(object, find_name, &search) != 0) {
        return search.found;
    }
    PyObject* const dict = cyclewatch_existing_dict(object);
    return entry(dict, name);
}

std::string_view utf8(PyObject* text) noexcept {
    Py_ssize_t size = 0;
    const char* const data = text != nullptr && PyUnicode_CheckExact(text)
                                 ? PyUnicode_AsUTF8AndSize(text, &size)
                                 : nullptr;
    PyErr_Clear();
    return data == nullptr ? std::string_view()
                           : std::string_view(data, static_cast<std::size_t>(size));
}

std::optional<std::int64_t> integer(PyObject* object) noexcept {
    if (object == nullptr || !PyLong_CheckExact(object)) {
        return std::nullopt;
    }
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow > 0) {
        // The int may be an address in the upper half of the address space.
        const unsigned long long bits = PyLong_AsUnsignedLongLongMask(object);
        PyErr_Clear();
        return static_cast<std::int64_t>(bits);
    }
    return overflow < 0 ? std::nullopt : std::optional<std::int64_t>(value);
}

std::string shape_text(PyObject* shape) {
    if (shape == nullptr || !PyTuple_Check(shape)) {
        return {};
    }
    std::string text = "[";
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(shape); ++index) {
        const std::optional<std::int64_t> extent = integer(PyTuple_GET_ITEM(shape, index));
        text += (index == 0 ? "" : ", ") + (extent ? std::to_string(*extent) : "?");
    }
    return text + "]";
}

std::string dtype_text(char kind, std::int64_t bytes) {
    const std::string bits = std::to_string(bytes * 8);
    switch (kind) {
        case 'b':
            return "bool";
        case 'i':
            return "int" + bits;
        case 'u':
            return "uint" + bits;
        case 'f':
            return "float" + bits;
        case 'c':
            return "complex" + bits;
        default:
            return {};
    }
}

}  // namespace cyclewatch::device
