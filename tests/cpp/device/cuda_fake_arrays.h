// SPDX-License-Identifier: Apache-2.0
// Fake C types with the names and fields of CuPy's, RMM's and NumPy's types, as far as our reader
// uses them.
#pragma once

#include <Python.h>
#include <structmember.h>

#include <cstddef>

#include "support/embedded_python.h"

namespace cyclewatch::test {

struct FakeObject {
    PyObject_HEAD PyObject* first;  // data, mem, or what the getter returns
    PyObject* base;
    PyObject* dtype;
    PyObject* shape;
    PyObject* weak_references;
    Py_ssize_t address;
    Py_ssize_t size;
    int device;
    char kind;
    int getter_calls;
};

inline void fake_dealloc(PyObject* self) {
    auto* fake = reinterpret_cast<FakeObject*>(self);
    PyTypeObject* type = Py_TYPE(self);
    if (fake->weak_references != nullptr) {
        PyObject_ClearWeakRefs(self);
    }
    Py_XDECREF(fake->first);
    Py_XDECREF(fake->base);
    Py_XDECREF(fake->dtype);
    Py_XDECREF(fake->shape);
    type->tp_free(self);
    Py_DECREF(type);
}

// Returns `first`; raises if it is null.
inline PyObject* fake_interface(PyObject* self, void*) {
    auto* fake = reinterpret_cast<FakeObject*>(self);
    ++fake->getter_calls;
    if (fake->first == nullptr) {
        PyErr_SetString(PyExc_RuntimeError, "no interface today");
        return nullptr;
    }
    Py_INCREF(fake->first);
    return fake->first;
}

// Creates a type; `first_name` is the Python name of the field `first`.
inline PyTypeObject* make_fake_type(const char* name, const char* first_name, bool interface) {
    start_python();
    // Never freed, because the type refers to it.
    auto* members = new PyMemberDef[11]{
        {first_name, T_OBJECT, offsetof(FakeObject, first), READONLY, nullptr},
        {"base", T_OBJECT, offsetof(FakeObject, base), READONLY, nullptr},
        {"dtype", T_OBJECT, offsetof(FakeObject, dtype), READONLY, nullptr},
        {"shape", T_OBJECT, offsetof(FakeObject, shape), READONLY, nullptr},
        {"ptr", T_PYSSIZET, offsetof(FakeObject, address), READONLY, nullptr},
        {"size", T_PYSSIZET, offsetof(FakeObject, size), READONLY, nullptr},
        {"itemsize", T_PYSSIZET, offsetof(FakeObject, size), READONLY, nullptr},
        {"device_id", T_INT, offsetof(FakeObject, device), READONLY, nullptr},
        {"kind", T_CHAR, offsetof(FakeObject, kind), READONLY, nullptr},
        {"__weaklistoffset__",
         T_PYSSIZET,
         offsetof(FakeObject, weak_references),
         READONLY,
         nullptr},
        {nullptr, 0, 0, 0, nullptr},
    };
    static PyGetSetDef getters[] = {
        {"__cuda_array_interface__", fake_interface, nullptr, nullptr, nullptr},
        {nullptr, nullptr, nullptr, nullptr, nullptr},
    };
    static PyGetSetDef no_getters[] = {{nullptr, nullptr, nullptr, nullptr, nullptr}};
    PyType_Slot slots[] = {
        {Py_tp_dealloc, reinterpret_cast<void*>(fake_dealloc)},
        {Py_tp_members, members},
        {Py_tp_getset, interface ? getters : no_getters},
        {0, nullptr},
    };
    PyType_Spec spec{name, sizeof(FakeObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
    auto* type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
    EXPECT_NE(type, nullptr) << take_python_error();
    return type;
}

struct FakeTypes {
    PyTypeObject* array = make_fake_type("cupy._core.core._ndarray_base", "data", true);
    PyTypeObject* pointer = make_fake_type("cupy.cuda.memory.MemoryPointer", "mem", false);
    PyTypeObject* memory = make_fake_type("cupy.cuda.memory.PooledMemory", "pool", false);
    PyTypeObject* unowned = make_fake_type("cupy.cuda.memory.UnownedMemory", "_owner", false);
    PyTypeObject* dtype = make_fake_type("numpy.dtype", "type", false);
    PyTypeObject* buffer =
        make_fake_type("rmm.pylibrmm.device_buffer.DeviceBuffer", "answer", true);
    PyTypeObject* plain = make_fake_type("other.Thing", "thing", false);
};

// Created once and never freed.
inline const FakeTypes& fake_types() {
    static const auto* types = new FakeTypes();
    return *types;
}

// Returns a new reference to an instance of a fake type or a subclass.
inline FakeObject* make_fake(PyTypeObject* type) {
    PyObject* object = PyObject_CallNoArgs(reinterpret_cast<PyObject*>(type));
    EXPECT_NE(object, nullptr) << take_python_error();
    return reinterpret_cast<FakeObject*>(object);
}

inline PyObject* as_object(FakeObject* fake) {
    return reinterpret_cast<PyObject*>(fake);
}

inline PyObject* fake_dtype(char kind, Py_ssize_t bytes) {
    FakeObject* dtype = make_fake(fake_types().dtype);
    dtype->kind = kind;
    dtype->size = bytes;
    return as_object(dtype);
}

}  // namespace cyclewatch::test
