// SPDX-License-Identifier: Apache-2.0
// C, not C++: some of the interpreter's internal headers use _Atomic, which is not valid C++.
#define Py_BUILD_CORE 1
#include "compat/allocation_trace.h"

#include "compat/features.h"

#if CYCLEWATCH_LAYOUTS_KNOWN
#include <internal/pycore_object.h>
#if CYCLEWATCH_ALLOCATION_TRACES_ARE_INTERNAL
#include <internal/pycore_tracemalloc.h>
#endif

// The domain of Python objects.
static const unsigned int kPythonDomain = 0;

PyObject* cyclewatch_allocation_traceback(PyObject* object) {
    // tracemalloc looks up a trace by the address of the memory block, which begins with the words
    // that precede the object. With a wrong address, tracemalloc merely finds no trace.
    const uintptr_t block = (uintptr_t)object - _PyType_PreHeaderSize(Py_TYPE(object));
    PyObject* traceback = _PyTraceMalloc_GetTraceback(kPythonDomain, block);
    if (traceback == NULL) {
        PyErr_Clear();
    }
    return traceback;
}
#else
PyObject* cyclewatch_allocation_traceback(PyObject* object) {
    (void)object;
    return NULL;
}
#endif
