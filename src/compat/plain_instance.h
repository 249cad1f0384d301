/* SPDX-License-Identifier: Apache-2.0
 * Plain instances: instances of Python classes whose attributes are in slots, in an array of
 * values, or in both. Most garbage consists of plain instances. Visiting their slots and values
 * directly takes half the time of tp_traverse, which walks the type and its bases again for each
 * object.
 *
 * REQUIRES (everything here): GIL held. RUNS PYTHON: never. */
#pragma once

#include <Python.h>

#include <stdint.h>

#include "compat/features.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CW_MAX_PLAIN_SLOTS = 10 };

/* The offsets of the references in instances of one class. Valid as long as the class exists. */
typedef struct {
    const Py_ssize_t* value_count; /* size of the array of values; NULL: there is no array */
    uint16_t slot_count;
    uint16_t slots[CW_MAX_PLAIN_SLOTS]; /* offsets in bytes */
} cw_plain_layout;

/* Stores the tp_traverse of `sample`, a Python class, to recognize other Python classes. Uses the
 * namespace of `sample` to check the layout of dicts. Until this is called, no class is plain. */
void cw_learn_plain_instances(PyTypeObject* sample);

/* Returns false if the instances of `type` are not plain or their layout is unknown. */
int cw_plain_layout_of(PyTypeObject* type, cw_plain_layout* layout);

/* The beginning of PyDictValues since 3.13, compared with it in plain_instance.c. */
typedef struct {
    uint8_t capacity;
    uint8_t size;
    uint8_t embedded;
    uint8_t valid;
    PyObject* values[1];
} cw_inline_values;

/* The word before an instance that points to its values: _PyObject_ValuesPointer(), or
 * _PyObject_DictOrValuesPointer(). Since 3.13, _PyObject_ManagedDictPointer(). */
enum { kCwValuesWord = CYCLEWATCH_HAS_VALUES_AND_DICT_POINTERS ? -4 : -3 };

/* Returns the values of an instance whose layout has a `value_count`, and stores their number. Each
 * value may be NULL. Returns NULL if the instance has a dict; call tp_traverse in that case. The
 * references of a plain instance are its values, its slots and its type. */
static inline PyObject* const* cw_plain_values(PyObject* object,
                                               const cw_plain_layout* layout,
                                               Py_ssize_t* count) {
    *count = *layout->value_count;
#if CYCLEWATCH_HAS_VALUES_AND_DICT_POINTERS
    return ((PyObject***)object)[kCwValuesWord];
#elif CYCLEWATCH_HAS_TAGGED_DICT_OR_VALUES
    enum { kIsValues = 1 }; /* _PyDictOrValues_GetValues() */
    const uintptr_t word = ((const uintptr_t*)object)[kCwValuesWord];
    return (word & kIsValues) != 0 ? (PyObject* const*)(word + kIsValues) : NULL;
#else
    const cw_inline_values* const values =
        (const cw_inline_values*)((const char*)object + Py_TYPE(object)->tp_basicsize);
    if (((PyObject**)object)[kCwValuesWord] != NULL || !values->valid) {
        return NULL;
    }
    *count = *count < values->capacity ? *count : values->capacity;
    return values->values;
#endif
}

/* Prefetches the attribute values of an instance or the items of a list if they are stored outside
 * the object. */
static inline void cw_prefetch_references(PyObject* object) {
    if (Py_IS_TYPE(object, &PyList_Type)) {
        __builtin_prefetch(((PyListObject*)object)->ob_item);
    }
#if CYCLEWATCH_HAS_VALUES_AND_DICT_POINTERS || CYCLEWATCH_HAS_TAGGED_DICT_OR_VALUES
    else if (PyType_HasFeature(Py_TYPE(object), Py_TPFLAGS_MANAGED_DICT)) {
        __builtin_prefetch(((void**)object)[kCwValuesWord]);
    }
#endif
}

/* Returns the value of slot `slot` of the layout in `object`; may be NULL. */
static inline PyObject* cw_plain_slot(PyObject* object, const cw_plain_layout* layout, int slot) {
    return *(PyObject**)((char*)object + layout->slots[slot]);
}

/* Adjacent references in the struct of a builtin type; each may be NULL. */
typedef struct {
    uint16_t first; /* offset in words */
    uint16_t count;
} cw_fields;

/* Stores the fields that contain all references of an instance of `type`. Returns false for types
 * other than tracebacks, cells, bound methods, and exceptions without a struct of their own. */
int cw_fields_of(PyTypeObject* type, cw_fields* fields);

/* The beginning of PyDictKeysObject, compared with it in plain_instance.c. */
typedef struct {
    Py_ssize_t reference_count;
    uint8_t log2_size;
    uint8_t log2_index_bytes;
    uint8_t kind;
    uint32_t version;
    Py_ssize_t usable;
    Py_ssize_t entry_count;
} cw_dict_keys;

typedef struct {
    PyObject* key;
    PyObject* value; /* NULL: unused */
} cw_dict_entry;

/* Returns false if cw_dict_entries() must not be called. */
int cw_has_dict_entries(void);

/* Returns the entries of an exact dict whose keys are exact strings, and stores their number.
 * tp_traverse visits only the values of such a dict. Returns NULL for other dicts; call tp_traverse
 * for them. */
static inline const cw_dict_entry* cw_dict_entries(PyObject* dict, Py_ssize_t* count) {
    enum { kStringKeys = 1 };
    const cw_dict_keys* const keys = (const cw_dict_keys*)((PyDictObject*)dict)->ma_keys;
    if (keys->kind != kStringKeys) {
        return NULL;
    }
    *count = keys->entry_count;
    return (const cw_dict_entry*)((const char*)(keys + 1) + ((size_t)1 << keys->log2_index_bytes));
}

#ifdef __cplusplus
}
#endif
