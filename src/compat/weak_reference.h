// SPDX-License-Identifier: Apache-2.0
// Weak references, asked without what later versions took away.
#pragma once

#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

// True if what `weakref`, a weak reference, stood for is gone. REQUIRES: GIL held. RUNS PYTHON:
// never. ALLOCATES: no.
int cyclewatch_weakref_is_dead(PyObject* weakref);

#ifdef __cplusplus
}
#endif
