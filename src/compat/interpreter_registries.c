/* SPDX-License-Identifier: Apache-2.0 */
#ifndef Py_BUILD_CORE
#define Py_BUILD_CORE 1
#endif
#include "compat/interpreter_registries.h"

#include "compat/features.h"

#if CYCLEWATCH_LAYOUTS_KNOWN && !CYCLEWATCH_HAS_NO_GIL

#include <internal/pycore_interp.h>

struct visit {
    cyclewatch_registry_visitor function;
    void* arg;
};

static void visit_field(const struct visit* visit,
                        const char* name,
                        const char* variable,
                        PyTypeObject* type,
                        PyObject* target) {
    const struct cyclewatch_registry registry = {name, variable, type};
    if (target != NULL) {
        visit->function(&registry, target, visit->arg);
    }
}

static void visit_codecs(const PyInterpreterState* state, const struct visit* visit) {
#if CYCLEWATCH_CODECS_ARE_A_STRUCT
    PyObject* const functions = state->codecs.search_path;
    PyObject* const cache = state->codecs.search_cache;
    PyObject* const handlers = state->codecs.error_registry;
#else
    PyObject* const functions = state->codec_search_path;
    PyObject* const cache = state->codec_search_cache;
    PyObject* const handlers = state->codec_error_registry;
#endif
    visit_field(visit, "codec registry", "search_functions", &PyList_Type, functions);
    visit_field(visit, "codec registry", "cache", &PyDict_Type, cache);
    visit_field(visit, "codec registry", "error_handlers", &PyDict_Type, handlers);
}

static const char kAtexit[] = "atexit callbacks";

#if CYCLEWATCH_ATEXIT_CALLBACKS_ARE_A_LIST

/* The list is not read, because the field may contain another object. */
static int visit_atexit(const struct atexit_state* state,
                        Py_ssize_t expected,
                        const struct visit* visit) {
    (void)expected;
    visit_field(visit, kAtexit, "callbacks", &PyList_Type, state->callbacks);
    return 1;
}

#else

static int visit_atexit(const struct atexit_state* state,
                        Py_ssize_t expected,
                        const struct visit* visit) {
    if (expected <= 0 || state->ncallbacks != expected || state->callback_len < expected) {
        return 0;
    }
    for (Py_ssize_t i = 0; i < expected; ++i) {
        if (state->callbacks[i] == NULL) {
            continue; /* unregistered */
        }
        visit_field(visit, kAtexit, "function", NULL, state->callbacks[i]->func);
        visit_field(visit, kAtexit, "args", &PyTuple_Type, state->callbacks[i]->args);
        visit_field(visit, kAtexit, "kwargs", &PyDict_Type, state->callbacks[i]->kwargs);
    }
    return 1;
}

#endif

void cyclewatch_visit_registries(Py_ssize_t atexit_callbacks,
                                 cyclewatch_registry_visitor function,
                                 void* arg) {
    const PyInterpreterState* const state = PyInterpreterState_Get();
    const struct visit visit = {function, arg};
    visit_codecs(state, &visit);
    if (visit_atexit(&state->atexit, atexit_callbacks, &visit)) {
        static const char kFork[] = "os.register_at_fork()";
        visit_field(&visit, kFork, "before", &PyList_Type, state->before_forkers);
        visit_field(&visit, kFork, "after_in_parent", &PyList_Type, state->after_forkers_parent);
        visit_field(&visit, kFork, "after_in_child", &PyList_Type, state->after_forkers_child);
    }
}

#else

void cyclewatch_visit_registries(Py_ssize_t atexit_callbacks,
                                 cyclewatch_registry_visitor function,
                                 void* arg) {
    (void)atexit_callbacks;
    (void)function;
    (void)arg;
}

#endif
