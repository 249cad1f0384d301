/* SPDX-License-Identifier: Apache-2.0 */
#ifndef Py_BUILD_CORE
#define Py_BUILD_CORE 1
#endif
#include "compat/gc_list.h"

#include <internal/pycore_gc.h>
#include <internal/pycore_interp.h>
#include <internal/pycore_pystate.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "compat/features.h"

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

/* The address of the three generations in the running interpreter; NULL: not found. */
static char* generations = NULL;

static char* young_count(void) {
    return generations + offsetof(struct gc_generation, count);
}

#if !CYCLEWATCH_HAS_NO_GIL

enum { kLinkFlags = 3 }; /* flag bits of _gc_prev and _gc_next */

static PyGC_Head* next_head(const PyGC_Head* head) {
    return (PyGC_Head*)(head->_gc_next & ~(uintptr_t)kLinkFlags);
}
static PyGC_Head* previous_head(const PyGC_Head* head) {
    return (PyGC_Head*)(head->_gc_prev & ~(uintptr_t)kLinkFlags);
}

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
    return previous_head(head) == previous && is_collecting(head);
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
        if (__builtin_expect(link <= kLinkFlags, 0)) {
            return CW_WALK_BROKEN;
        }
        PyGC_Head* const next = (PyGC_Head*)(link & ~(uintptr_t)kLinkFlags);
        __builtin_prefetch((const char*)next + kPrefetchDistance);
        /* Almost no object has another flag, so this single comparison suffices for almost every
         * object. */
        if (__builtin_expect(next->_gc_prev != (uintptr_t)node + kCollecting, 0) &&
            !follows_and_is_collecting(next, node)) {
            if (previous_head(next) != node) {
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
    const uintptr_t next_flags = head->_gc_next & kLinkFlags;
    PyObject_GC_UnTrack(object);
    head->_gc_next = (uintptr_t)head | next_flags;
    head->_gc_prev = (uintptr_t)head | (head->_gc_prev & kLinkFlags);
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

/* True if three generations with these thresholds, the first with a valid list, start at `place`.
 */
static int are_generations(const char* place, const int thresholds[3]) {
    for (int i = 0; i < 3; ++i) {
        int threshold;
        memcpy(&threshold,
               place + i * sizeof(struct gc_generation) + offsetof(struct gc_generation, threshold),
               sizeof(threshold));
        if (threshold != thresholds[i]) {
            return 0;
        }
    }
    /* Copy each field, because `place` may be unaligned. */
    uintptr_t first;
    memcpy(&first, place, sizeof(first));
    first &= ~(uintptr_t)kLinkFlags;
    uintptr_t back = 0;
    if (first != 0) {
        memcpy(&back, (const char*)first + sizeof(uintptr_t), sizeof(back));
    }
    return (back & ~(uintptr_t)kLinkFlags) == (uintptr_t)place;
}

int cw_find_generations(const int thresholds[3]) {
    enum { kStep = 4, kFarthest = 32 };
    if (thresholds[0] == 0 && thresholds[1] == 0 && thresholds[2] == 0) {
        return 0; /* zeros would match unrelated memory */
    }
    char* const expected = (char*)PyInterpreterState_Main()->gc.generations;
    for (int distance = 0; distance <= kFarthest; distance += kStep) {
        for (int sign = -1; sign <= 1; sign += 2) {
            char* const place = expected + sign * distance;
            if (are_generations(place, thresholds)) {
                generations = place;
                return 1;
            }
        }
    }
    return 0;
}

/* NULL if the lists cannot be read. */
static const PyGC_Head* list_of(int generation) {
    if (generations == NULL || !cw_collector_is_known() ||
        (uintptr_t)generations % _Alignof(struct gc_generation) != 0) {
        return NULL;
    }
    const size_t permanent = offsetof(struct _gc_runtime_state, permanent_generation) -
                             offsetof(struct _gc_runtime_state, generations);
    const size_t offset =
        generation == kCwFrozen ? permanent : (size_t)generation * sizeof(struct gc_generation);
    return &((const struct gc_generation*)(generations + offset))->head;
}

/* Bytes to load ahead: objects of the same size are often allocated one after another. */
enum { kAhead = 512 };

/* The next object of a list, from its front or its back; NULL if the links disagree. */
static const PyGC_Head* step_forward(const PyGC_Head* node) {
    const PyGC_Head* const next = next_head(node);
    __builtin_prefetch((const char*)next + kAhead);
    return next != NULL && previous_head(next) == node ? next : NULL;
}
static const PyGC_Head* step_back(const PyGC_Head* node) {
    const PyGC_Head* const previous = previous_head(node);
    __builtin_prefetch((const char*)previous - kAhead);
    return previous != NULL && next_head(previous) == node ? previous : NULL;
}

/* Adds the objects of `list` up to the middle to `found`, and the others to `rest`, in the opposite
 * order. The walk waits for memory most of the time, and from both ends it waits for two objects at
 * once. */
static cw_walk_result walk_from_both_ends(const PyGC_Head* list,
                                          cw_object_list* found,
                                          cw_object_list* rest) {
    const PyGC_Head* front = list;
    const PyGC_Head* back = list;
    for (;;) {
        front = step_forward(front);
        if (front == NULL) {
            return CW_WALK_BROKEN;
        }
        if (front == back) {
            return CW_WALK_COMPLETE;
        }
        if (!cw_add_object(found, (PyObject*)(front + 1))) {
            return CW_WALK_NO_MEMORY;
        }
        back = step_back(back);
        if (back == NULL) {
            return CW_WALK_BROKEN;
        }
        if (front == back) {
            return CW_WALK_COMPLETE;
        }
        if (!cw_add_object(rest, (PyObject*)(back + 1))) {
            return CW_WALK_NO_MEMORY;
        }
    }
}

cw_walk_result cw_list_generation(int generation, cw_object_list* found) {
    const PyGC_Head* const list = list_of(generation);
    if (list == NULL) {
        return CW_WALK_BROKEN;
    }
    cw_object_list rest = {NULL, 0, 0};
    cw_walk_result result = walk_from_both_ends(list, found, &rest);
    if (result == CW_WALK_COMPLETE && !cw_reserve_objects(found, found->count + rest.count)) {
        result = CW_WALK_NO_MEMORY;
    }
    while (result == CW_WALK_COMPLETE && rest.count > 0) {
        found->objects[found->count++] = rest.objects[--rest.count];
    }
    cw_free_objects(&rest);
    return result;
}

int cw_tracks_more_than(size_t count) {
    size_t left = count;
    for (int generation = 0; generation <= kCwFrozen; ++generation) {
        const PyGC_Head* const list = list_of(generation);
        if (list == NULL) {
            return 0;
        }
        for (const PyGC_Head* node = next_head(list); node != list; node = next_head(node)) {
            if (left-- == 0) {
                return 1;
            }
        }
    }
    return 0;
}

/* CPython 3.12 freezes about 400 objects at startup; a call to gc.freeze() freezes thousands. */
enum { kFrozenAtStartup = PY_VERSION_HEX >= 0x030C0000 && PY_VERSION_HEX < 0x030D0000 ? 1000 : 0 };

int cw_has_frozen_objects(void) {
    /* gc.freeze() appends to the list, so the previous result is valid as long as the list has the
     * same end. */
    static const PyGC_Head* end = NULL;
    static int has_frozen = 0;
    const PyGC_Head* const list = list_of(kCwFrozen);
    if (list == NULL || next_head(list) == list) {
        return 0;
    }
    if (end != previous_head(list)) {
        end = previous_head(list);
        const PyGC_Head* node = next_head(list);
        for (int i = 0; i < kFrozenAtStartup && node != list; ++i) {
            node = next_head(node);
        }
        has_frozen = node != list;
    }
    return has_frozen;
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

int cw_young_count(void) {
    int count = 0;
    if (generations != NULL) {
        memcpy(&count, young_count(), sizeof(count)); /* the address may be unaligned */
    }
    return count;
}

void cw_set_young_count(int count) {
    if (generations != NULL) {
        memcpy(young_count(), &count, sizeof(count));
    }
}

int cw_collects_automatically(void) {
    int threshold = 1;
    if (generations != NULL) {
        memcpy(
            &threshold, generations + offsetof(struct gc_generation, threshold), sizeof(threshold));
    }
    return threshold != 0 && PyGC_IsEnabled();
}
