// SPDX-License-Identifier: Apache-2.0
#include "compat/weak_reference.h"

#include "compat/features.h"

#if CYCLEWATCH_HAS_NO_GIL

// Whoever drops the last reference to another thread's object leaves it, and one reference to it,
// in that thread's queue.
static int waits_for_its_thread(PyObject* object) {
    return (object->ob_ref_shared & _Py_REF_SHARED_FLAG_MASK) == _Py_REF_QUEUED &&
           Py_REFCNT(object) == 1;
}

#endif

int cyclewatch_weakref_is_dead(PyObject* weakref) {
#if CYCLEWATCH_HAS_NO_GIL
    PyObject* const object = ((PyWeakReference*)weakref)->wr_object;
    return object == Py_None || Py_REFCNT(object) == 0 || waits_for_its_thread(object);
#elif CYCLEWATCH_WEAKREFS_SAY_THAT_THEY_DIED
    return PyWeakref_IsDead(weakref);
#else
    return PyWeakref_GET_OBJECT(weakref) == Py_None;
#endif
}
