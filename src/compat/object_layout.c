// SPDX-License-Identifier: Apache-2.0
// C, not C++: some of the interpreter's internal headers use _Atomic, which is not valid C++.
#define Py_BUILD_CORE 1
#include "compat/object_layout.h"

#include "compat/features.h"

#include <stddef.h>
#include <structmember.h>

#if CYCLEWATCH_LAYOUTS_KNOWN
#include <internal/pycore_dict.h>
#include <internal/pycore_object.h>
#if CYCLEWATCH_ALLOCATION_TRACES_ARE_INTERNAL
#include <internal/pycore_tracemalloc.h>
#endif
#endif

int cyclewatch_layouts_failed = 0;

#if CYCLEWATCH_LAYOUTS_KNOWN

static int has_managed_dict(PyTypeObject* type) {
    return PyType_HasFeature(type, Py_TPFLAGS_MANAGED_DICT);
}

#if CYCLEWATCH_HAS_VALUES_AND_DICT_POINTERS

static PyDictValues* values_of(PyObject* object) {
    return *_PyObject_ValuesPointer(object);
}

static PyObject* managed_dict_of(PyObject* object) {
    return *_PyObject_ManagedDictPointer(object);
}

static Py_ssize_t value_count(PyDictValues* values, PyDictKeysObject* keys) {
    (void)values;
    return keys->dk_nentries;
}

#elif CYCLEWATCH_HAS_TAGGED_DICT_OR_VALUES

static PyDictValues* values_of(PyObject* object) {
    const PyDictOrValues word = *_PyObject_DictOrValuesPointer(object);
    return _PyDictOrValues_IsValues(word) ? _PyDictOrValues_GetValues(word) : NULL;
}

static PyObject* managed_dict_of(PyObject* object) {
    const PyDictOrValues word = *_PyObject_DictOrValuesPointer(object);
    return _PyDictOrValues_IsValues(word) ? NULL : _PyDictOrValues_GetDict(word);
}

static Py_ssize_t value_count(PyDictValues* values, PyDictKeysObject* keys) {
    (void)values;
    return keys->dk_nentries;
}

#else

static PyObject* managed_dict_of(PyObject* object) {
    return (PyObject*)_PyObject_GetManagedDict(object);
}

static int uses_inline_values(PyObject* dict) {
    const PyDictValues* values = ((PyDictObject*)dict)->ma_values;
    return values != NULL && values->embedded;
}

static int end_at_first(PyObject* object, void* arg) {
    (void)object, (void)arg;
    return 1;
}

// True if the dict, not the object, owns the values. The interpreter's version does not determine
// this, because distributions have backported the change of ownership.
static int holds_values(PyObject* dict) {
    return PyDict_Type.tp_traverse(dict, end_at_first, NULL) != 0;
}

static PyDictValues* values_of(PyObject* object) {
    if (!PyType_HasFeature(Py_TYPE(object), Py_TPFLAGS_INLINE_VALUES)) {
        return NULL;
    }
    PyDictValues* values = _PyObject_InlineValues(object);
    if (!values->valid) {
        return NULL;
    }
    PyObject* dict = managed_dict_of(object);
    return dict != NULL && holds_values(dict) ? NULL : values;
}

static Py_ssize_t value_count(PyDictValues* values, PyDictKeysObject* keys) {
    return keys->dk_nentries < values->capacity ? keys->dk_nentries : values->capacity;
}

#endif

static PyDictKeysObject* shared_keys_of(PyTypeObject* type) {
    if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) {
        return NULL;
    }
    PyDictKeysObject* keys = ((PyHeapTypeObject*)type)->ht_cached_keys;
    return keys != NULL && keys->dk_kind == DICT_KEYS_SPLIT ? keys : NULL;
}

int cyclewatch_visit_attribute_values(PyObject* object,
                                      cyclewatch_attribute_visitor visit,
                                      void* arg) {
    if (cyclewatch_layouts_failed || !has_managed_dict(Py_TYPE(object))) {
        return 0;
    }
    PyDictKeysObject* keys = shared_keys_of(Py_TYPE(object));
    PyDictValues* values = keys == NULL ? NULL : values_of(object);
    if (values == NULL) {
        return 0;
    }
    const PyDictUnicodeEntry* entries = DK_UNICODE_ENTRIES(keys);
    const Py_ssize_t count = value_count(values, keys);
    for (Py_ssize_t i = 0; i < count; ++i) {
        PyObject* value = values->values[i];
        if (value == NULL || entries[i].me_key == NULL) {
            continue;
        }
        const int result = visit(entries[i].me_key, value, arg);
        if (result != 0) {
            return result;
        }
    }
    return 0;
}

// The unmanaged dict pointer of a variable-sized object may be at the end of the object. The offset
// is then negative, relative to the end.
static PyObject** unmanaged_dict_pointer(PyObject* object) {
    PyTypeObject* type = Py_TYPE(object);
    Py_ssize_t offset = type->tp_dictoffset;
    if (offset < 0) {
        if (CYCLEWATCH_INT_SIZE_IS_TAGGED && PyType_HasFeature(type, Py_TPFLAGS_LONG_SUBCLASS)) {
            return NULL;
        }
        const Py_ssize_t size = Py_SIZE(object);
        offset += (Py_ssize_t)_PyObject_VAR_SIZE(type, size < 0 ? -size : size);
    }
    return offset > 0 ? (PyObject**)((char*)object + offset) : NULL;
}

PyObject* cyclewatch_existing_dict(PyObject* object) {
    if (cyclewatch_layouts_failed) {
        return NULL;
    }
    PyObject* dict = NULL;
    if (has_managed_dict(Py_TYPE(object))) {
        dict = managed_dict_of(object);
    } else if (Py_TYPE(object)->tp_dictoffset != 0) {
        PyObject** pointer = unmanaged_dict_pointer(object);
        dict = pointer == NULL ? NULL : *pointer;
    }
    return dict != NULL && PyDict_Check(dict) ? dict : NULL;
}

int cyclewatch_dict_borrows_values(PyObject* dict) {
#if CYCLEWATCH_HAS_INLINE_VALUES
    return uses_inline_values(dict) && !holds_values(dict);
#else
    (void)dict;
    return 0;
#endif
}

// The domain of Python objects.
static const unsigned int kPythonDomain = 0;

PyObject* cyclewatch_allocation_traceback(PyObject* object) {
    // tracemalloc looks up a trace by the address of the memory block, which begins with the words
    // that precede the object. If the address is wrong, tracemalloc finds no trace.
    const uintptr_t block = (uintptr_t)object - _PyType_PreHeaderSize(Py_TYPE(object));
    PyObject* traceback = _PyTraceMalloc_GetTraceback(kPythonDomain, block);
    if (traceback == NULL) {
        PyErr_Clear();
    }
    return traceback;
}

#else

int cyclewatch_visit_attribute_values(PyObject* object,
                                      cyclewatch_attribute_visitor visit,
                                      void* arg) {
    (void)object, (void)visit, (void)arg;
    return 0;
}

PyObject* cyclewatch_existing_dict(PyObject* object) {
    (void)object;
    return NULL;
}

int cyclewatch_dict_borrows_values(PyObject* dict) {
    (void)dict;
    return 0;
}

PyObject* cyclewatch_allocation_traceback(PyObject* object) {
    (void)object;
    return NULL;
}

#endif

unsigned cyclewatch_type_version(PyTypeObject* type) {
    const int valid =
        !CYCLEWATCH_TYPE_VERSION_HAS_FLAG || PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG);
    return valid ? type->tp_version_tag : 0;
}

int cyclewatch_type_has_slots(PyTypeObject* type) {
    return PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) &&
           ((PyHeapTypeObject*)type)->ht_slots != NULL;
}

int cyclewatch_visit_members(PyTypeObject* type,
                             PyObject* object,
                             cyclewatch_member_visitor visit,
                             void* arg) {
    if (type->tp_members == NULL) {
        return 0;
    }
    for (const PyMemberDef* member = type->tp_members; member->name != NULL; ++member) {
        if ((member->type != T_OBJECT && member->type != T_OBJECT_EX) || member->offset <= 0) {
            continue;
        }
        PyObject* value = *(PyObject**)((char*)object + member->offset);
        const int result = value == NULL ? 0 : visit(member->name, value, member->offset, arg);
        if (result != 0) {
            return result;
        }
    }
    return 0;
}

#if CYCLEWATCH_HAS_NO_GIL

// A thread that drops the last reference to another thread's object does not free the object.
// Instead, the thread adds the object to the other thread's queue, which holds one reference.
static int is_queued_for_owner(PyObject* object) {
    return (object->ob_ref_shared & _Py_REF_SHARED_FLAG_MASK) == _Py_REF_QUEUED &&
           Py_REFCNT(object) == 1;
}

#endif

int cyclewatch_weakref_is_dead(PyObject* weakref) {
#if CYCLEWATCH_HAS_NO_GIL
    PyObject* const object = ((PyWeakReference*)weakref)->wr_object;
    return object == Py_None || Py_REFCNT(object) == 0 || is_queued_for_owner(object);
#elif CYCLEWATCH_HAS_WEAKREF_IS_DEAD
    return PyWeakref_IsDead(weakref);
#else
    return PyWeakref_GET_OBJECT(weakref) == Py_None;
#endif
}
