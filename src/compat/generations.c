/* SPDX-License-Identifier: Apache-2.0 */
#ifndef Py_BUILD_CORE
#define Py_BUILD_CORE 1
#endif
#include "compat/generations.h"

#include <internal/pycore_gc.h>
#include <internal/pycore_interp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "compat/features.h"
#include "compat/gc_head.h"
#include "compat/gc_list.h"

/* The address of the three generations in the running interpreter; NULL: not found. */
static char* generations = NULL;

static char* young_count(void) {
    return generations + offsetof(struct gc_generation, count);
}

#if CYCLEWATCH_HAS_NO_GIL

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

#else

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
    first &= ~(uintptr_t)kCwLinkFlags;
    uintptr_t back = 0;
    if (first != 0) {
        memcpy(&back, (const char*)first + sizeof(uintptr_t), sizeof(back));
    }
    return (back & ~(uintptr_t)kCwLinkFlags) == (uintptr_t)place;
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

cw_walk_result cw_list_generation(int generation, cw_object_list* found) {
    const PyGC_Head* const list = list_of(generation);
    if (list == NULL) {
        return CW_WALK_BROKEN;
    }
    const PyGC_Head* node = list;
    for (;;) {
        const PyGC_Head* const next = cw_next_head(node);
        __builtin_prefetch((const char*)next + kAhead);
        if (next == NULL || cw_previous_head(next) != node) {
            return CW_WALK_BROKEN;
        }
        if (next == list) {
            return CW_WALK_COMPLETE;
        }
        if (!cw_add_object(found, (PyObject*)(next + 1))) {
            return CW_WALK_NO_MEMORY;
        }
        node = next;
    }
}

int cw_tracks_more_than(size_t count) {
    size_t left = count;
    for (int generation = 0; generation <= kCwFrozen; ++generation) {
        const PyGC_Head* const list = list_of(generation);
        if (list == NULL) {
            return 0;
        }
        for (const PyGC_Head* node = cw_next_head(list); node != list; node = cw_next_head(node)) {
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
    if (list == NULL || cw_next_head(list) == list) {
        return 0;
    }
    if (end != cw_previous_head(list)) {
        end = cw_previous_head(list);
        const PyGC_Head* node = cw_next_head(list);
        for (int i = 0; i < kFrozenAtStartup && node != list; ++i) {
            node = cw_next_head(node);
        }
        has_frozen = node != list;
    }
    return has_frozen;
}

#endif

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
