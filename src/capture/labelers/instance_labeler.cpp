// SPDX-License-Identifier: Apache-2.0
#include "capture/labelers/labelers.h"
#include "capture/labelers/text.h"
#include "capture/labelers/visit.h"
#include "compat/native_members.h"
#include "compat/object_layout.h"

namespace cyclewatch::capture {
namespace {

using model::EdgeKind;
using model::PartRole;

PartRole dict_role(PyObject* object) noexcept {
    if (PyType_Check(object)) {
        return PartRole::type_dict;
    }
    return PyModule_Check(object) ? PartRole::module_dict : PartRole::instance_dict;
}

void label_slots(PyObject* object, ReferenceSink& sink) {
    for (PyTypeObject* type = Py_TYPE(object); type != nullptr; type = type->tp_base) {
        if (cyclewatch_type_has_slots(type) == 0) {
            continue;
        }
        visit_members(type, object, [&](const char* name, PyObject* value, Py_ssize_t) {
            sink.add(value, EdgeKind::slot, name, 0);
        });
    }
}

}  // namespace

void label_instance(PyObject* object, ReferenceSink& sink) {
    label_slots(object, sink);
    visit_attribute_values(object, [&](PyObject* name, PyObject* value) {
        if (is_identifier(name)) {
            sink.add(value, EdgeKind::attribute, Utf8Text(name).view(), 0);
        } else {
            sink.add(value, EdgeKind::opaque_key_value, "str", 0);
        }
    });
    add_member(sink, cyclewatch_existing_dict(object), "__dict__");
    if (PyType_HasFeature(Py_TYPE(object), Py_TPFLAGS_HEAPTYPE)) {
        add_member(sink, reinterpret_cast<PyObject*>(Py_TYPE(object)), "__class__");
    }
}

void find_instance_parts(PyObject* object, PartSink& sink) {
    PyObject* dict = cyclewatch_existing_dict(object);
    if (dict != nullptr) {
        sink.add(dict, dict_role(object));
    }
}

PyObject* find_attribute(PyObject* object, std::string_view ascii) {
    PyObject* found = nullptr;
    visit_attribute_values(object, [&](PyObject* name, PyObject* value) {
        if (found == nullptr && equals_ascii(name, ascii)) {
            found = value;
        }
    });
    return found != nullptr ? found : find_in_dict(cyclewatch_existing_dict(object), ascii);
}

// label_instance() labels the type's __dict__, because a type is an instance of its metaclass.
void label_type(PyObject* object, ReferenceSink& sink) {
    auto* type = reinterpret_cast<PyTypeObject*>(object);
    // Static types do not own the objects that the members below refer to, because all interpreters
    // share these objects.
    if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) {
        return;
    }
    add_member(sink, type->tp_mro, "__mro__");
    add_member(sink, type->tp_bases, "__bases__");
    add_member(sink, reinterpret_cast<PyObject*>(type->tp_base), "__base__");
    add_member(sink, type->tp_cache, "tp_cache");
    add_member(sink, reinterpret_cast<PyHeapTypeObject*>(object)->ht_module, "ht_module");
}

void label_weakref(PyObject* object, ReferenceSink& sink) {
    add_member(sink, reinterpret_cast<PyWeakReference*>(object)->wr_callback, "callback");
}

}  // namespace cyclewatch::capture
