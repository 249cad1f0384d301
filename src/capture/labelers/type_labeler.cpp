// SPDX-License-Identifier: Apache-2.0
#include "capture/labelers/labelers.h"
#include "compat/native_members.h"

namespace cyclewatch::capture {

// label_instance() labels the type's __dict__, because a type is an instance of its metaclass.
void label_type(PyObject* object, ReferenceSink& sink) {
    auto* type = reinterpret_cast<PyTypeObject*>(object);
    // Static types do not own these objects, which all interpreters share.
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
