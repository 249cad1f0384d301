/* SPDX-License-Identifier: Apache-2.0
 * Plain instances: of classes written in Python, whose attributes stand in slots, in an array of
 * values, or in both. Most garbage consists of them, and going over slots and values directly takes
 * half the time of their tp_traverse, which finds its way to them anew for each object.
 *
 * REQUIRES (everything here): GIL held. RUNS PYTHON: never. */
#pragma once

#include <Python.h>

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CW_MAX_PLAIN_SLOTS = 10 };

/* Where the instances of one class keep their references. Holds as long as the class. */
typedef struct {
    const Py_ssize_t* value_count; /* of the array of values; NULL: there is no such array */
    uint16_t slot_count;
    uint16_t slots[CW_MAX_PLAIN_SLOTS]; /* offsets from the object, in bytes */
} cw_plain_layout;

/* Learns from `sample`, a class written in Python, which tp_traverse such classes have. Before that
 * no class is plain. */
void cw_learn_plain_instances(PyTypeObject* sample);

/* False if the instances of `type` are not plain, or not where this interpreter lets us look. */
int cw_plain_layout_of(PyTypeObject* type, cw_plain_layout* layout);

/* The values of an instance of a type whose layout has a `value_count`; each may be NULL. NULL if
 * the instance has a dict instead: then tp_traverse must be asked. The references of a plain
 * instance are its values, its slots and the one to its type. */
static inline PyObject** cw_plain_values(PyObject* object) {
    enum { kValuesWord = -4 }; /* as _PyObject_ValuesPointer() has it on the one such version */
    return ((PyObject***)object)[kValuesWord];
}

/* What slot `slot` of the layout holds in `object`; may be NULL. */
static inline PyObject* cw_plain_slot(PyObject* object, const cw_plain_layout* layout, int slot) {
    return *(PyObject**)((char*)object + layout->slots[slot]);
}

#ifdef __cplusplus
}
#endif
