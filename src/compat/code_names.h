// SPDX-License-Identifier: Apache-2.0
// Names that a code object knows, without making the tuples that co_varnames and co_freevars
// make. Everything here: REQUIRES: GIL held. RUNS PYTHON: never. ALLOCATES: no. Results borrowed.
#pragma once

#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

// Name of variable `index` of a frame's array of locals, cells and free variables; null if there
// is none. Always an exact str.
PyObject* cyclewatch_variable_name(PyCodeObject* code, Py_ssize_t index);

// Number of variables in that array.
Py_ssize_t cyclewatch_variable_count(PyCodeObject* code);

// Name of item `index` of the closure of a function with this code; null if there is none.
PyObject* cyclewatch_free_variable_name(PyCodeObject* code, Py_ssize_t index);

// Name of the parameter that item `index` of a function's `count` defaults belongs to; or null.
PyObject* cyclewatch_default_name(PyCodeObject* code, Py_ssize_t index, Py_ssize_t count);

// Line of the byte offset `offset` in the code; its first line where there is none.
int cyclewatch_line_at(PyCodeObject* code, int offset);

#ifdef __cplusplus
}
#endif
