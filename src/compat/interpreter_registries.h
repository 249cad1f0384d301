/* SPDX-License-Identifier: Apache-2.0
 * The objects to which the interpreter's state refers because they were passed to
 * atexit.register(), codecs.register() or os.register_at_fork(). Functions passed to
 * sys.addaudithook() are not visited: they are in an untracked list, which cannot be distinguished
 * from other memory.
 *
 * REQUIRES: GIL held. RUNS PYTHON: never. ALLOCATES: never. */
#pragma once

#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cyclewatch_registry {
    const char* name;     /* "atexit callbacks" */
    const char* variable; /* "args": the object in the registry */
    PyTypeObject* type;   /* of the object; NULL: any */
};

/* `target`: may only be compared with the addresses of live objects, because a bug fix release may
 * have moved the fields. If the object's type differs from `registry->type`, the registry does not
 * refer to the object. */
typedef void (*cyclewatch_registry_visitor)(const struct cyclewatch_registry* registry,
                                            PyObject* target,
                                            void* arg);

/* `atexit_callbacks`: the number of callbacks according to the atexit module. If the interpreter's
 * state contains a different number, the callbacks and the fields near them are not visited. Visits
 * nothing on free-threaded builds and on versions with unknown layouts. */
void cyclewatch_visit_registries(Py_ssize_t atexit_callbacks,
                                 cyclewatch_registry_visitor visit,
                                 void* arg);

#ifdef __cplusplus
}
#endif
