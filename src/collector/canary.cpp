// SPDX-License-Identifier: Apache-2.0
#include "collector/canary.h"

#include <cstddef>

#include "compat/gc_list.h"
#include "python/guards.h"

namespace cyclewatch::collector {
namespace {

struct CanaryObject {
    PyObject_HEAD PyObject* weakrefs;
};

Canary::Callback the_callback = nullptr;
PyObject* the_canary = nullptr;

// Visits the canary's reference to itself, so that the collector finds the canary unreachable.
int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(self);
    return 0;
}

int clear(PyObject* /*self*/) {
    return 0;
}

PyTypeObject canary_type = [] {
    PyTypeObject type{};
    type.ob_base = {PyObject_HEAD_INIT(nullptr) 0};
    type.tp_name = "cyclewatch._native.Canary";
    type.tp_basicsize = sizeof(CanaryObject);
    type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION;
    type.tp_doc = "Unreachable in every collection, so that the collector calls cyclewatch.";
    type.tp_traverse = traverse;
    type.tp_clear = clear;
    type.tp_weaklistoffset = offsetof(CanaryObject, weakrefs);
    return type;
}();

PyObject* on_weakref_died(PyObject* /*self*/, PyObject* /*weakref*/) {
    the_callback(the_canary);
    Py_RETURN_NONE;
}

PyMethodDef callback_definition{"on_unreachable", on_weakref_died, METH_O, nullptr};

}  // namespace

bool Canary::create(Callback callback) {
    if (object_ != nullptr) {
        return true;
    }
    if (PyType_Ready(&canary_type) < 0) {
        return false;
    }
    callback_ = python::steal(PyCFunction_New(&callback_definition, nullptr));
    the_callback = callback;
    return callback_ && make_object();
}

bool Canary::make_object() noexcept {
    auto* const canary = PyObject_GC_New(CanaryObject, &canary_type);
    if (canary == nullptr) {
        return false;
    }
    canary->weakrefs = nullptr;
    object_ = reinterpret_cast<PyObject*>(canary);  // its initial reference is the one to itself
    the_canary = object_;
    return true;
}

bool Canary::is_held() const noexcept {
    return Py_REFCNT(object_) > 1;
}

bool Canary::arm() noexcept {
    disarm();
    const python::YoungCountGuard young_count;
    if (is_held() && !make_object()) {  // the old canary stays alive as long as it is referenced
        PyErr_Clear();
        return false;
    }
    weakref_ = python::steal(PyWeakref_NewRef(object_, callback_.get()));
    if (!weakref_) {
        PyErr_Clear();
        return false;
    }
    cw_isolate(weakref_.get());
    PyObject_GC_Track(object_);
    return true;
}

void Canary::leave_list() noexcept {
    if (PyObject_GC_IsTracked(object_) != 0) {
        PyObject_GC_UnTrack(object_);
    }
}

void Canary::disarm() noexcept {
    leave_list();
    if (weakref_) {
        const python::YoungCountGuard young_count;
        weakref_.reset();
    }
}

}  // namespace cyclewatch::collector
