// SPDX-License-Identifier: Apache-2.0
// How deep the calls of Python code are, as the recursion limit counts them.
//
// REQUIRES: GIL held; the calling thread's own depth is meant. RUNS PYTHON: never. ALLOCATES: no.
#pragma once

#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

int cyclewatch_recursion_depth(void);

// True where what logs something, or a callback, could run out of calls although the program does
// not: few are left, of the limit that is set.
int cyclewatch_recursion_is_nearly_spent(void);

// From now on the limit counts from `depth`.
void cyclewatch_set_recursion_depth(int depth);

#ifdef __cplusplus
}
#endif
