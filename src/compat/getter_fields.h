// SPDX-License-Identifier: Apache-2.0
// Finds the names of a C type's struct fields from getters that merely return a field, such as
// those that Cython generates for `cdef public object name`. tp_getset does not contain the offset
// of the field. The offset is therefore decoded from the getter's machine code, which is not
// executed.
//
// REQUIRES (everything here): GIL held. RUNS PYTHON: never. ALLOCATES: no.
#pragma once

#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

// Returns the offset of the field that the getter returns as a new reference; 0 if the getter may
// do anything else, or on architectures other than x86-64.
Py_ssize_t cyclewatch_field_of_getter(getter get);

// Returns the name of the getter, in `type` or its bases, that returns the field at `offset`; null
// if there is none. Borrowed from the type.
const char* cyclewatch_name_of_field(PyTypeObject* type, Py_ssize_t offset);

#ifdef __cplusplus
}
#endif
