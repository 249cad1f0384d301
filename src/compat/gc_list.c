/* SPDX-License-Identifier: Apache-2.0 */
#ifndef Py_BUILD_CORE
#define Py_BUILD_CORE 1
#endif
#include "compat/gc_list.h"

#include <internal/pycore_gc.h>
#include <internal/pycore_interp.h>
#include <internal/pycore_pystate.h>
#include <stddef.h>
#include <stdlib.h>

#include "compat/features.h"
#include "compat/gc_head.h"

int cw_reserve_objects(cw_object_list* list, size_t room) {
    if (room <= list->room) {
        return 1;
    }
    PyObject** const larger = room <= SIZE_MAX / sizeof(PyObject*)
                                  ? realloc(list->objects, room * sizeof(PyObject*))
                                  : NULL;
    if (larger == NULL) {
        return 0;
    }
    list->objects = larger;
    list->room = room;
    return 1;
}

void cw_free_objects(cw_object_list* list) {
    free(list->objects);
    *list = (cw_object_list){NULL, 0, 0};
}

int cw_grow_objects(cw_object_list* list) {
    enum { kFirstRoom = 1024 };
    return cw_reserve_objects(list, list->room * 2 + kFirstRoom);
}

#if !CYCLEWATCH_HAS_NO_GIL

enum { kCollecting = 2 }; /* a flag of _gc_prev (pycore_gc.h) */

static PyGC_Head* head_of(PyObject* object) {
    return (PyGC_Head*)object - 1;
}
static PyObject* object_of(PyGC_Head* head) {
    return (PyObject*)(head + 1);
}
static int is_collecting(const PyGC_Head* head) {
    return (head->_gc_prev & kCollecting) != 0;
}

/* True if `head` comes after `previous`, and has the collecting flag and possibly others. */
static int follows_and_is_collecting(const PyGC_Head* head, const PyGC_Head* previous) {
    return cw_previous_head(head) == previous && is_collecting(head);
}

/* In bytes: objects that follow each other in the list are often neighbors in memory. */
enum { kPrefetchDistance = 1024 };

/* cw_walk_unreachable() from `start`, whose collecting flag is cleared. */
static cw_walk_result walk_from(PyGC_Head* start, cw_object_list* found) {
    PyObject** next_free = found->objects;
    PyObject** end = found->objects + found->room;
    int list_heads = 0;
    PyGC_Head* node = start;
    for (;;) {
        const uintptr_t link = node->_gc_next;
        if (__builtin_expect(link <= kCwLinkFlags, 0)) {
            return CW_WALK_BROKEN;
        }
        PyGC_Head* const next = (PyGC_Head*)(link & ~(uintptr_t)kCwLinkFlags);
        __builtin_prefetch((const char*)next + kPrefetchDistance);
        /* Almost no object has another flag, so this single comparison suffices for almost every
         * object. */
        if (__builtin_expect(next->_gc_prev != (uintptr_t)node + kCollecting, 0) &&
            !follows_and_is_collecting(next, node)) {
            if (cw_previous_head(next) != node) {
                return CW_WALK_BROKEN;
            }
            if (next == start) {
                break;
            }
            if (++list_heads > 1) {
                return CW_WALK_BROKEN;
            }
            node = next;
            continue;
        }
        if (__builtin_expect(next_free == end, 0)) {
            const size_t count = found->room;
            if (!cw_grow_objects(found)) {
                return CW_WALK_NO_MEMORY;
            }
            next_free = found->objects + count;
            end = found->objects + found->room;
        }
        *next_free++ = object_of(next);
        node = next;
    }
    found->count = (size_t)(next_free - found->objects);
    return list_heads == 1 ? CW_WALK_COMPLETE : CW_WALK_BROKEN;
}

cw_walk_result cw_walk_unreachable(PyObject* canary, cw_object_list* found) {
    found->count = 0;
    PyGC_Head* const start = head_of(canary);
    if (start->_gc_next == 0 || !is_collecting(start)) {
        return CW_WALK_NOT_LISTED;
    }
    /* Clearing the flag takes `start` off the fast path of the walk, which therefore need not
     * compare every object with `start`. */
    start->_gc_prev &= ~(uintptr_t)kCollecting;
    const cw_walk_result result = walk_from(start, found);
    start->_gc_prev |= kCollecting;
    return result;
}

void cw_isolate(PyObject* object) {
    PyGC_Head* const head = head_of(object);
    const uintptr_t next_flags = head->_gc_next & kCwLinkFlags;
    PyObject_GC_UnTrack(object);
    head->_gc_next = (uintptr_t)head | next_flags;
    head->_gc_prev = (uintptr_t)head | (head->_gc_prev & kCwLinkFlags);
#if CYCLEWATCH_COLLECTOR_COUNTS_TRACKED
    ++PyInterpreterState_Get()->gc.heap_size; /* its deallocation decrements it again */
#endif
}

_Static_assert(sizeof(PyGC_Head) == 2 * sizeof(uintptr_t) &&
                   offsetof(PyGC_Head, _gc_prev) == sizeof(uintptr_t),
               "cw_is_unreachable() reads _gc_prev as the word before the object");

cw_walk_result cw_list_heap(cw_object_list* found, void (*work)(void* context), void* context) {
    (void)found;
    (void)work;
    (void)context;
    return CW_WALK_BROKEN;
}

void cw_with_world_stopped(void (*work)(void* context), void* context) {
    work(context); /* the other threads wait for the GIL */
}

#endif

int cw_keeps_what_it_gave_up(void) {
    enum { kSaveAll = 32 }; /* gc.DEBUG_SAVEALL */
    return CYCLEWATCH_COLLECTOR_CLEARS_WEAKREFS &&
           (PyInterpreterState_Get()->gc.debug & kSaveAll) != 0;
}

int cw_collector_is_known(void) {
    return CYCLEWATCH_COLLECTOR_KNOWN;
}
