/* SPDX-License-Identifier: Apache-2.0
 * Plain instances: of classes written in Python, without slots, whose attributes stand in an array
 * of values. Most garbage consists of them, and going over the array directly takes half the time
 * of their tp_traverse, which finds its way to it anew for each object.
 *
 * REQUIRES (everything here): GIL held. RUNS PYTHON: never. */
#pragma once

#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Learns from `sample`, a class written in Python, which tp_traverse such classes have. Before that
 * no class is plain. */
void cw_learn_plain_instances(PyTypeObject* sample);

/* Where the number of values of `type`'s instances stands, or NULL if they are not plain or this
 * interpreter keeps values elsewhere. Holds as long as the type. */
const Py_ssize_t* cw_plain_value_count(PyTypeObject* type);

/* The values of an instance of a type that cw_plain_value_count() knows; each may be NULL. NULL
 * if the instance has a dict instead: then tp_traverse must be asked. The references of a plain
 * instance are these and the one to its type. */
static inline PyObject** cw_plain_values(PyObject* object) {
    enum { kValuesWord = -4 }; /* as _PyObject_ValuesPointer() has it on the one such version */
    return ((PyObject***)object)[kValuesWord];
}

#ifdef __cplusplus
}
#endif
