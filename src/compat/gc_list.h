/* SPDX-License-Identifier: Apache-2.0
 * Which objects are tracked, and which of them a collection found unreachable. gc_list.c reads the
 * GC header of each object, the list of unreachable objects and the collector's generations.
 * gc_heap.c, for free-threaded builds, reads a bit in each object of the heap. No other file reads
 * this state.
 *
 * REQUIRES (everything here): GIL held. RUNS PYTHON: never. ALLOCATES: only object lists. */
#pragma once

#include <Python.h>

#include "compat/features.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The result of a walk over the unreachable objects. */
typedef enum {
    CW_WALK_COMPLETE = 0,
    CW_WALK_NOT_LISTED = 1, /* the canary is not among the unreachable objects */
    CW_WALK_BROKEN = 2,     /* a link does not point back, or the list does not have one head */
    CW_WALK_NO_MEMORY = 3,  /* not enough memory for all objects */
} cw_walk_result;

/* A growing array of borrowed references; empty if zero-initialized. It grows by realloc(), which
 * remaps the pages of a large array instead of copying it. */
typedef struct {
    PyObject** objects;
    size_t count;
    size_t room; /* capacity */
} cw_object_list;

/* Makes room for `room` objects in total; never shrinks. Returns false if out of memory. */
int cw_reserve_objects(cw_object_list* list, size_t room);
void cw_free_objects(cw_object_list* list);
/* Makes room for at least one more object. Returns false if out of memory. */
int cw_grow_objects(cw_object_list* list);
/* Returns false if out of memory. */
static inline int cw_add_object(cw_object_list* list, PyObject* object) {
    if (list->count == list->room && !cw_grow_objects(list)) {
        return 0;
    }
    list->objects[list->count++] = object;
    return 1;
}

/* Sets `found` to the objects that are unreachable together with `canary`, excluding `canary`.
 * Valid only inside a weakref callback of `canary` that the collector calls, while every
 * unreachable object is still intact. With a GIL, walks the circular list of unreachable objects,
 * starting and ending at the canary. Checks that each node points back and that exactly one node,
 * the list's head, lacks the collecting flag. On free-threaded builds, visits every tracked object
 * with the other threads stopped. */
cw_walk_result cw_walk_unreachable(PyObject* canary, cw_object_list* found);

/* True if the running collection found `object` unreachable. Valid at the same time as
 * cw_walk_unreachable(). Inline because the search for owners calls it for each reference.
 * REQUIRES: PyObject_IS_GC(object). */
static inline int cw_is_unreachable(PyObject* object) {
#if CYCLEWATCH_HAS_NO_GIL
    enum { kUnreachable = 4 }; /* checked in gc_heap.c */
    return object->ob_gc_bits & kUnreachable;
#else
    enum { kCollectingFlag = 2 }; /* in _gc_prev, the last word of the header (see gc_list.c) */
    return (int)(((const uintptr_t*)object)[-1] & kCollectingFlag);
#endif
}

/* The allocation count of the youngest generation, which triggers the next automatic collection.
 * Restoring it hides the objects that we allocate. */
int cw_young_count(void);
void cw_set_young_count(int count);

/* Removes `object` from its generation and links it to itself. It remains tracked, so that the
 * collector can move it like the other weak references whose callbacks it is about to call. It does
 * not count as a long-lived object, so that it does not affect when the next full collection runs.
 * REQUIRES: `object` is tracked, and no collection is running. */
void cw_isolate(PyObject* object);

/* Calls `work` once while no other thread runs Python code or changes objects. REQUIRES: `work`
 * must not run Python code, wait for a thread that does, throw, or call this function or
 * cw_walk_unreachable(). */
void cw_with_world_stopped(void (*work)(void* context), void* context);

/* Sets `found` to every tracked object that is not frozen, and calls `work` while `found` is
 * complete and the other threads are stopped. Returns CW_WALK_NOT_LISTED if objects were created
 * during the visit. `work` may then have been called with an incomplete list, and the caller may
 * try again. Only for free-threaded builds, where a list would be outdated as soon as other threads
 * run. With a GIL, returns CW_WALK_BROKEN; use cw_list_generation() instead. `work`: as for
 * cw_with_world_stopped(). */
cw_walk_result cw_list_heap(cw_object_list* found, void (*work)(void* context), void* context);

/* False if the reference count of `object` is a large number that does not include all references.
 * Free-threaded builds count so for modules, classes, and functions that are not nested. */
static inline int cw_is_fully_counted(PyObject* object) {
#if CYCLEWATCH_HAS_NO_GIL
    enum { kDeferred = 64 }; /* checked in gc_heap.c */
    return (object->ob_gc_bits & kDeferred) == 0;
#else
    (void)object;
    return 1;
#endif
}

/* True if unreachable objects survive (gc.DEBUG_SAVEALL) although the collector clears their weak
 * references. In that case, a dead weak reference does not prove that its referent was freed. */
int cw_keeps_what_it_gave_up(void);

/* True if the collector of the running interpreter was reviewed for this build, so that installing
 * the watch requires no self-test. */
int cw_collector_is_known(void);

/* Searches for the thresholds of gc.get_threshold() near the offset in the headers. Returns false
 * if they are not found. The offset is not stable: a bug fix release of 3.13 moved the generations
 * by four bytes. Until this has succeeded, cw_young_count() returns 0 and cw_set_young_count() is a
 * no-op. */
int cw_find_generations(const int thresholds[3]);

enum { kCwFrozen = 3 }; /* the generation of frozen objects (gc.freeze()) */

/* Appends the objects of a generation to `found`, and checks that each list node points back.
 * CW_WALK_BROKEN on unknown collectors (cw_collector_is_known()), on free-threaded builds, and
 * until cw_find_generations() has succeeded. `found` may then be partly filled. */
cw_walk_result cw_list_generation(int generation, cw_object_list* found);

/* True if more than `count` objects are tracked. Visits at most that many. Includes frozen objects
 * with a GIL; free-threaded builds stop the other threads. False if the collector is unknown. */
int cw_tracks_more_than(size_t count);

/* True if gc.freeze() has frozen objects that are still alive, apart from those that CPython 3.12
 * freezes at startup. False if cw_list_generation() cannot read the lists. */
int cw_has_frozen_objects(void);

/* False if no collection starts automatically: gc.disable(), or a threshold of 0. */
int cw_collects_automatically(void);

#ifdef __cplusplus
}
#endif
