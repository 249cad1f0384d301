// SPDX-License-Identifier: Apache-2.0
// Weak references, asked without what later versions took away.
#pragma once

#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

// True if what `weakref`, a weak reference, stood for is gone, or is going as soon as the thread
// that made it next looks: of free-threaded builds, that one has to free it. REQUIRES: GIL held, no
// other thread changes objects (cw_with_world_stopped()). RUNS PYTHON: never. ALLOCATES: no.
int cyclewatch_weakref_is_dead(PyObject* weakref);

#ifdef __cplusplus
}
#endif
