// SPDX-License-Identifier: Apache-2.0
#include "compat/weak_reference.h"

#include "compat/features.h"

int cyclewatch_weakref_is_dead(PyObject* weakref) {
#if CYCLEWATCH_WEAKREFS_SAY_THAT_THEY_DIED
    return PyWeakref_IsDead(weakref);
#else
    return PyWeakref_GET_OBJECT(weakref) == Py_None;
#endif
}
