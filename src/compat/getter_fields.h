// SPDX-License-Identifier: Apache-2.0
// The names by which a type in C gives out fields of its struct, if its getters do no more than
// return a field: how Cython writes `cdef public object name`. tp_getset does not tell the offset,
// so the getter's machine code is read, not run.
//
// Everything here: REQUIRES: GIL held. RUNS PYTHON: never. ALLOCATES: no.
#pragma once

#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

// The offset of the field that the getter returns a new reference to; 0 if it may do anything else,
// and on machines whose code is not known (all but x86-64).
Py_ssize_t cyclewatch_field_of_getter(getter get);

// The name of the field at `offset` of `type`'s instances, by the getters of `type` and its bases;
// null if none returns it. Borrowed from the type.
const char* cyclewatch_name_of_field(PyTypeObject* type, Py_ssize_t offset);

#ifdef __cplusplus
}
#endif
