/* SPDX-License-Identifier: Apache-2.0 */
#ifndef Py_BUILD_CORE
#define Py_BUILD_CORE 1
#endif
#include "compat/generations.h"

#include <internal/pycore_gc.h>
#include <internal/pycore_interp.h>
#include <stddef.h>
#include <string.h>

#include "compat/features.h"
#include "compat/gc_list.h"

/* Its address in the running interpreter, which may be unaligned. */
static char* young_count = NULL;

#if CYCLEWATCH_HAS_NO_GIL

int cw_find_generations(const int thresholds[3]) {
    (void)thresholds;
    return 0; /* not supported */
}

#else

enum { kFlags = 3 }; /* flag bits of a link */

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
    first &= ~(uintptr_t)kFlags;
    uintptr_t back = 0;
    if (first != 0) {
        memcpy(&back, (const char*)first + sizeof(uintptr_t), sizeof(back));
    }
    return (back & ~(uintptr_t)kFlags) == (uintptr_t)place;
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
                young_count = place + offsetof(struct gc_generation, count);
                return 1;
            }
        }
    }
    return 0;
}

#endif

int cw_young_count(void) {
    int count = 0;
    if (young_count != NULL) {
        memcpy(&count, young_count, sizeof(count));
    }
    return count;
}

void cw_set_young_count(int count) {
    if (young_count != NULL) {
        memcpy(young_count, &count, sizeof(count));
    }
}
