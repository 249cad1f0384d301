/* SPDX-License-Identifier: Apache-2.0
 * Locates the collector's generations in the interpreter's state. Their offset is not stable: a bug
 * fix release of 3.13 moved them by four bytes.
 *
 * REQUIRES: GIL held. RUNS PYTHON: never. ALLOCATES: only cw_list_generation(). */
#pragma once

#include <Python.h>

#include "compat/gc_list.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Searches for the thresholds of gc.get_threshold() near the offset in the headers. Returns false
 * if they are not found. Until this has succeeded, cw_young_count() returns 0 and
 * cw_set_young_count() is a no-op (gc_list.h). */
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
