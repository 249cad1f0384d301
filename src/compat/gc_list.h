/* SPDX-License-Identifier: Apache-2.0
 * The collector's own bookkeeping: which objects are tracked, and which a collection found
 * unreachable. gc_list.c reads the header in front of each object and the list that links the
 * unreachable ones; gc_heap.c, for free-threaded builds, a bit in each object of the heap. Nothing
 * else does.
 *
 * REQUIRES (everything here): GIL held. RUNS PYTHON: never. ALLOCATES: no. */
#pragma once

#include <Python.h>

#include "compat/features.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a walk over the unreachable list came to. */
typedef enum {
    CW_WALK_COMPLETE = 0,
    CW_WALK_NOT_LISTED = 1, /* the canary is not in a list of unreachable objects */
    CW_WALK_BROKEN = 2,     /* a link does not point back, or there is not exactly one head */
    CW_WALK_NO_MEMORY = 3,  /* not begun or not finished: there was no room for all of them */
} cw_walk_result;

/* A growing array of borrowed references; all zero is an empty one. Grown by realloc(), which
 * moves the pages of a large one instead of its contents. */
typedef struct {
    PyObject** objects;
    size_t count; /* how many of `objects` are there */
    size_t room;  /* how many fit */
} cw_object_list;

/* Makes room for `room` objects in all; never shrinks. False if there is no memory. */
int cw_reserve_objects(cw_object_list* list, size_t room);
void cw_free_objects(cw_object_list* list);
/* False if there is no memory. */
int cw_add_object(cw_object_list* list, PyObject* object);

/* Makes `found` the objects that were unreachable together with `canary`, without it. Valid only
 * inside a weakref callback of `canary` that the collector itself made: then every unreachable
 * object is intact. In a list, from the node after the canary round to itself: every step checks
 * that the next node points back and that exactly one node, the list's head, lacks the collecting
 * flag. In a heap, by looking at every tracked object while the other threads stand still. */
cw_walk_result cw_walk_unreachable(PyObject* canary, cw_object_list* found);

/* True if the running collection holds `object` for garbage. Meaningful at the same moment as
 * cw_walk_unreachable(). Inline because the search for owners asks it once per reference.
 * REQUIRES: PyObject_IS_GC(object), so that a header stands in front of it. */
static inline int cw_is_unreachable(PyObject* object) {
#if CYCLEWATCH_HAS_NO_GIL
    enum { kUnreachable = 4 }; /* checked in gc_heap.c */
    return object->ob_gc_bits & kUnreachable;
#else
    enum { kCollectingFlag = 2 }; /* in _gc_prev, the header's last word (checked in gc_list.c) */
    return (int)(((const uintptr_t*)object)[-1] & kCollectingFlag);
#endif
}

/* The allocation count of the youngest generation: what decides when the next automatic
 * collection runs. Reading and writing it lets us take back what our own objects added. */
int cw_young_count(void);
void cw_set_young_count(int count);

/* Takes `object` out of its generation and links it with itself alone. It still counts as tracked,
 * so that the collector can move it as it moves the weakrefs whose callbacks it is about to make,
 * but no generation holds it: it adds nothing to the counts of long-lived objects that decide
 * when the next full collection runs. REQUIRES: `object` is tracked, no collection sweeps. */
void cw_isolate(PyObject* object);

/* Calls `work` once, while no other thread of the interpreter runs Python or changes its objects.
 * With a GIL that is so anyway. REQUIRES: `work` neither runs Python code nor waits for a thread
 * that may, lets no exception out, and does not call this or cw_walk_unreachable(). */
void cw_with_world_stopped(void (*work)(void* context), void* context);

/* True if what the collector gave up is kept (gc.DEBUG_SAVEALL) although weak references to it are
 * dead: then these prove nothing. */
int cw_keeps_what_it_gave_up(void);

/* True if this build knows the interpreter it runs in: the layouts above were read from that
 * version's source, so no proof is owed at install. */
int cw_collector_is_known(void);

#ifdef __cplusplus
}
#endif
