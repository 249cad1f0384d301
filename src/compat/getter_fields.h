// SPDX-License-Identifier: Apache-2.0
// Names of the fields of a C type that its getters return, for getters that only return a field
// (Cython's `cdef public object name`). tp_getset does not contain the offset, so it is read from
// the machine code of the getter, which is not called.
//
// Everything here: REQUIRES: GIL held. RUNS PYTHON: never. ALLOCATES: no.
#pragma once

#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

// Returns the offset of the field to which the getter returns a new reference; 0 if it may do
// anything else, and on all architectures other than x86-64.
Py_ssize_t cyclewatch_field_of_getter(getter get);

// Returns the name of the getter of `type` or its bases that returns the field at `offset`; null if
// there is none. Borrowed from the type.
const char* cyclewatch_name_of_field(PyTypeObject* type, Py_ssize_t offset);

#ifdef __cplusplus
}
#endif
