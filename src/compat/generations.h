/* SPDX-License-Identifier: Apache-2.0
 * Where the collector's generations stand. Their place in the interpreter's state is none to rely
 * on: a bug fix release of 3.13 moved them by four bytes.
 *
 * REQUIRES: GIL held. RUNS PYTHON: never. ALLOCATES: no. */
#pragma once

#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Finds them by their thresholds, as gc.get_threshold() tells them. False if they are not near
 * where the headers said. Until it was true once, cw_young_count() is 0 and cw_set_young_count()
 * writes nothing (gc_list.h). */
int cw_find_generations(const int thresholds[3]);

#ifdef __cplusplus
}
#endif
