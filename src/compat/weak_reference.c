// SPDX-License-Identifier: Apache-2.0
#include "compat/weak_reference.h"

#include "compat/features.h"

#if CYCLEWATCH_HAS_NO_GIL

// A thread that drops the last reference to another thread's object does not free it, but adds it
// to that thread's queue, which keeps one reference.
static int is_queued_for_owner(PyObject* object) {
    return (object->ob_ref_shared & _Py_REF_SHARED_FLAG_MASK) == _Py_REF_QUEUED &&
           Py_REFCNT(object) == 1;
}

#endif

int cyclewatch_weakref_is_dead(PyObject* weakref) {
#if CYCLEWATCH_HAS_NO_GIL
    PyObject* const object = ((PyWeakReference*)weakref)->wr_object;
    return object == Py_None || Py_REFCNT(object) == 0 || is_queued_for_owner(object);
#elif CYCLEWATCH_HAS_WEAKREF_IS_DEAD
    return PyWeakref_IsDead(weakref);
#else
    return PyWeakref_GET_OBJECT(weakref) == Py_None;
#endif
}
