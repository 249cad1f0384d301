// SPDX-License-Identifier: Apache-2.0
// Reads the variable names of a code object without creating the tuples of co_varnames and
// co_freevars. Everything here: REQUIRES: GIL held. RUNS PYTHON: never. ALLOCATES: no. Results are
// borrowed.
#pragma once

#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

// Returns the name of variable `index` in a frame's array of locals, cells and free variables. The
// name is an exact str, or null if there is no such variable.
PyObject* cyclewatch_variable_name(PyCodeObject* code, Py_ssize_t index);

// Returns the number of locals, cells and free variables of a frame.
Py_ssize_t cyclewatch_variable_count(PyCodeObject* code);

// Returns the name of item `index` in the closure of a function with this code; null if there is
// none.
PyObject* cyclewatch_free_variable_name(PyCodeObject* code, Py_ssize_t index);

// Returns the name of the parameter whose default is item `index` of `count` defaults; null if
// there is none.
PyObject* cyclewatch_default_name(PyCodeObject* code, Py_ssize_t index, Py_ssize_t count);

// Returns the line of a byte offset in the code, or the first line of the code if the offset has no
// line.
int cyclewatch_line_at(PyCodeObject* code, int offset);

// Stores the start and end columns of the expression at a byte offset. Columns are zero-based
// offsets in UTF-8 bytes. Returns false if the columns are unknown or if the expression spans
// several lines.
int cyclewatch_columns_at(PyCodeObject* code, int offset, int* start, int* end);

#ifdef __cplusplus
}
#endif
