/* SPDX-License-Identifier: Apache-2.0 */
#ifndef Py_BUILD_CORE
#define Py_BUILD_CORE 1
#endif
#include "compat/gc_list.h"

#if CYCLEWATCH_HAS_NO_GIL

#include <internal/pycore_gc.h>
#include <stdint.h>

_Static_assert(_PyGC_BITS_UNREACHABLE == 4, "cw_is_unreachable() reads that bit");
_Static_assert(_PyGC_BITS_DEFERRED == 64, "cw_is_fully_counted() reads that bit");

typedef struct {
    PyObject* canary;
    cw_object_list* found;
    int canary_found;
    int out_of_memory;
} walk;

/* Called for every tracked object while the other threads are stopped. 0 ends the visit. */
static int take_unreachable(PyObject* object, void* context) {
    walk* const w = context;
    if (!cw_is_unreachable(object)) {
        return 1;
    }
    if (object == w->canary) {
        w->canary_found = 1;
        return 1;
    }
    w->out_of_memory = !cw_add_object(w->found, object);
    return !w->out_of_memory;
}

cw_walk_result cw_walk_unreachable(PyObject* canary, cw_object_list* found) {
    found->count = 0;
    if (!cw_is_unreachable(canary)) {
        return CW_WALK_NOT_LISTED;
    }
    walk w = {.canary = canary, .found = found};
    PyUnstable_GC_VisitObjects(take_unreachable, &w);
    if (w.out_of_memory) {
        return CW_WALK_NO_MEMORY;
    }
    return w.canary_found ? CW_WALK_COMPLETE : CW_WALK_NOT_LISTED;
}

typedef struct {
    cw_object_list* found;
    PyObject* last; /* the last object of the previous visit */
    void (*work)(void* context);
    void* context;
    int complete; /* `last` was visited, and `work` was called */
    int out_of_memory;
} listing;

static int remember_last(PyObject* object, void* context) {
    *(PyObject**)context = object;
    return 1;
}

static int take_until_last(PyObject* object, void* context) {
    listing* const l = context;
    if (l->complete) {
        l->complete = 0; /* there are objects after `last` */
        return 0;
    }
    if (!cw_add_object(l->found, object)) {
        l->out_of_memory = 1;
        return 0;
    }
    if (object == l->last) {
        l->complete = 1;
        l->work(l->context);
    }
    return 1;
}

cw_walk_result cw_list_heap(cw_object_list* found, void (*work)(void* context), void* context) {
    /* `work` must be called before the visit ends, when the other threads run again, but a visit
     * does not mark its last object. Therefore, a first visit finds the last object, and a second
     * visit calls `work` when it reaches that object. */
    listing l = {.found = found, .work = work, .context = context};
    found->count = 0;
    PyUnstable_GC_VisitObjects(remember_last, &l.last);
    PyUnstable_GC_VisitObjects(take_until_last, &l);
    if (l.out_of_memory) {
        return CW_WALK_NO_MEMORY;
    }
    return l.complete ? CW_WALK_COMPLETE : CW_WALK_NOT_LISTED;
}

void cw_isolate(PyObject* object) {
    /* The collector calls the callbacks of untracked weakrefs, too. */
    PyObject_GC_UnTrack(object);
}

typedef struct {
    void (*work)(void* context);
    void* context;
    int done;
} call;

/* Visiting the objects stops the other threads. The first object ends the visit. */
static int work_at_first(PyObject* object, void* context) {
    (void)object;
    call* const c = context;
    c->done = 1;
    c->work(c->context);
    return 0;
}

void cw_with_world_stopped(void (*work)(void* context), void* context) {
    call c = {.work = work, .context = context};
    PyUnstable_GC_VisitObjects(work_at_first, &c);
    if (!c.done) { /* all objects are frozen */
        work(context);
    }
}

int cw_find_generations(const int thresholds[3]) {
    (void)thresholds;
    return 0; /* not supported */
}

cw_walk_result cw_list_generation(int generation, cw_object_list* found) {
    (void)generation;
    (void)found;
    return CW_WALK_BROKEN;
}

/* Returns 0, which ends the visit, when there are more objects than `left`. */
static int count_down(PyObject* object, void* left) {
    (void)object;
    return (*(size_t*)left)-- != 0;
}

int cw_tracks_more_than(size_t count) {
    size_t left = count;
    PyUnstable_GC_VisitObjects(count_down, &left);
    return left == SIZE_MAX;
}

int cw_has_frozen_objects(void) {
    return 0;
}

#endif
