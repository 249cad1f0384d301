// SPDX-License-Identifier: Apache-2.0
// The state of weak references, without using functions that later versions removed.
#pragma once

#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

// True if the referent of the weak reference `weakref` is dead. On free-threaded builds, also true
// if the referent is queued for the thread that created it, which must free it. REQUIRES: GIL held,
// other threads stopped (cw_with_world_stopped()). RUNS PYTHON: never. ALLOCATES: no.
int cyclewatch_weakref_is_dead(PyObject* weakref);

#ifdef __cplusplus
}
#endif
