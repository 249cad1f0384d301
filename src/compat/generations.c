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

/* Where the running interpreter has it, which may be no multiple of its size. */
static char* young_count = NULL;

#if CYCLEWATCH_HAS_NO_GIL

int cw_find_generations(const int thresholds[3]) {
    (void)thresholds;
    return 0; /* such builds are refused; their later versions have others */
}

#else

enum { kFlags = 3 }; /* of a link, not part of the pointer */

/* True if three generations with these thresholds begin at `place`, the first of them a list. */
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
    /* The headers' alignment is not that of the running interpreter: no struct is read as such. */
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
        return 0; /* too much of the memory looks like that */
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
