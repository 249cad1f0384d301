// SPDX-License-Identifier: Apache-2.0
// The location at which an object was allocated, as recorded by tracemalloc.
#pragma once

#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

// Returns the allocation traceback of `object` as a new tuple of (file name, line) tuples, most
// recent call first. Returns None if the allocation was not traced. Returns null without an
// exception if the interpreter is unknown or out of memory. REQUIRES: GIL held. RUNS PYTHON: never.
// ALLOCATES: the tuples and their integers; nothing if tracemalloc is not tracing.
PyObject* cyclewatch_allocation_traceback(PyObject* object);

#ifdef __cplusplus
}
#endif
