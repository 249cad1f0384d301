// SPDX-License-Identifier: Apache-2.0
// Where an object was allocated, as tracemalloc recorded it.
#pragma once

#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

// What tracemalloc knows of the allocation of `object`: a new tuple of (file name, line) tuples,
// the most recent call first, or a new reference to None. Null, without an error, where that
// cannot be asked. REQUIRES: GIL held. RUNS PYTHON: never. ALLOCATES: the tuples and their numbers,
// nothing while tracemalloc does not trace.
PyObject* cyclewatch_allocation_traceback(PyObject* object);

#ifdef __cplusplus
}
#endif
