/* SPDX-License-Identifier: Apache-2.0
 * The objects that the interpreter's state refers to on behalf of atexit.register(),
 * codecs.register() and os.register_at_fork(). The functions of sys.addaudithook() are in a list
 * that the collector does not track, which cannot be told apart from other memory.
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
 * have moved the fields. An object of another type than `registry->type` is not the one that the
 * registry refers to. */
typedef void (*cyclewatch_registry_visitor)(const struct cyclewatch_registry* registry,
                                            PyObject* target,
                                            void* arg);

/* `atexit_callbacks`: the number of callbacks according to the module atexit; if the interpreter's
 * state contains another number, the callbacks and the fields near them are not visited. Visits
 * nothing on free-threaded builds and on versions with unknown layouts. */
void cyclewatch_visit_registries(Py_ssize_t atexit_callbacks,
                                 cyclewatch_registry_visitor visit,
                                 void* arg);

#ifdef __cplusplus
}
#endif
