// SPDX-License-Identifier: Apache-2.0
#include "capture/class_code.h"
#include "capture/labelers/labelers.h"
#include "capture/labelers/text.h"
#include "capture/labelers/visit.h"
#include "compat/code_names.h"
#include "compat/native_members.h"

namespace cyclewatch::capture {
namespace {

using model::EdgeKind;
using model::PartRole;

void add_item(ReferenceSink& sink,
              PyObject* item,
              EdgeKind kind,
              Py_ssize_t index,
              std::string_view name = {}) {
    if (item != nullptr) {
        sink.add(item, kind, name, static_cast<std::uint32_t>(index));
    }
}

// The name of the variable for item `index` of a function's closure or defaults; null if unknown.
PyObject* part_item_name(PartRole role, PyObject* function, Py_ssize_t index, Py_ssize_t count) {
    auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function));
    return role == PartRole::closure ? cyclewatch_free_variable_name(code, index)
                                     : cyclewatch_default_name(code, index, count);
}

// The names of the items of a NamedTuple, borrowed; null if `object` is not a NamedTuple.
PyObject* fields_of_named_tuple(PyObject* object) {
    PyObject* fields = nullptr;
    visit_bases(Py_TYPE(object), [&](PyTypeObject* base) {
        fields = find_in_dict(base->tp_dict, "_fields");
        return fields != nullptr;
    });
    const bool fits = fields != nullptr && PyTuple_CheckExact(fields) &&
                      PyTuple_GET_SIZE(fields) >= PyTuple_GET_SIZE(object);
    return fits ? fields : nullptr;
}

void label_function_tuple(PyObject* object,
                          PartRole role,
                          PyObject* function,
                          ReferenceSink& sink) {
    const EdgeKind kind = role == PartRole::closure ? EdgeKind::closure : EdgeKind::default_value;
    const Py_ssize_t count = PyTuple_GET_SIZE(object);
    for (Py_ssize_t i = 0; i < count; ++i) {
        PyObject* item = PyTuple_GET_ITEM(object, i);
        PyObject* name = part_item_name(role, function, i, count);
        if (item != nullptr && name != nullptr) {
            sink.add(item, kind, Utf8Text(name).view(), 0);
        } else {
            add_item(sink, item, EdgeKind::index, i);
        }
    }
}

}  // namespace

void label_list(PyObject* object, ReferenceSink& sink) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(object); ++i) {
        add_item(sink, PyList_GET_ITEM(object, i), EdgeKind::index, i);
    }
}

void label_tuple(PyObject* object, ReferenceSink& sink) {
    PyObject* const fields = fields_of_named_tuple(object);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i) {
        const Utf8Text field(fields == nullptr ? nullptr : PyTuple_GET_ITEM(fields, i));
        add_item(sink, PyTuple_GET_ITEM(object, i), EdgeKind::index, i, field.view());
    }
}

void label_tuple_part(PyObject* object, PartRole role, PyObject* parent, ReferenceSink& sink) {
    const bool of_function = role == PartRole::closure || role == PartRole::defaults;
    if (of_function && parent != nullptr && PyFunction_Check(parent)) {
        label_function_tuple(object, role, parent, sink);
        return;
    }
    const EdgeKind kind =
        role == PartRole::partial_args ? EdgeKind::partial_argument : EdgeKind::index;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i) {
        add_item(sink, PyTuple_GET_ITEM(object, i), kind, i);
    }
}

void label_set(PyObject* object, ReferenceSink& sink) {
    const auto* set = reinterpret_cast<PySetObject*>(object);
    for (Py_ssize_t i = 0; i <= set->mask; ++i) {
        const setentry& entry = set->table[i];
        // A set replaces the entry of a removed element with a dummy entry whose hash is -1.
        if (entry.key != nullptr && entry.hash != -1) {
            sink.add(entry.key, EdgeKind::element, {}, 0);
        }
    }
}

PyTypeObject* ordered_container_base(PyTypeObject* type) noexcept {
    while (type != nullptr && cyclewatch_is_ordered_container(type->tp_name) == 0) {
        type = type->tp_base;
    }
    return type;
}

void label_ordered_container(PyTypeObject* base, PyObject* object, ReferenceSink& sink) {
    // tp_traverse of a C heap type visits the object's type first.
    bool type_is_pending = PyType_HasFeature(base, Py_TPFLAGS_HEAPTYPE);
    std::uint32_t index = 0;
    traverse_as(base, object, [&](PyObject* referent) {
        const bool is_type = referent == reinterpret_cast<PyObject*>(Py_TYPE(object));
        if (type_is_pending && is_type) {
            type_is_pending = false;
            return;
        }
        sink.add(referent, EdgeKind::index, {}, index++);
    });
}

}  // namespace cyclewatch::capture
