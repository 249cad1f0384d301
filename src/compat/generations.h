/* SPDX-License-Identifier: Apache-2.0
 * Locates the collector's generations in the interpreter's state. Their offset is not stable: a bug
 * fix release of 3.13 moved them by four bytes.
 *
 * REQUIRES: GIL held. RUNS PYTHON: never. ALLOCATES: no. */
#pragma once

#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Searches for the thresholds of gc.get_threshold() near the offset in the headers. Returns false
 * if they are not found. Until this has succeeded, cw_young_count() returns 0 and
 * cw_set_young_count() is a no-op (gc_list.h). */
int cw_find_generations(const int thresholds[3]);

#ifdef __cplusplus
}
#endif
