// SPDX-License-Identifier: Apache-2.0
// How many more calls of Python code the calling thread can make.
//
// REQUIRES: GIL held. RUNS PYTHON: never. ALLOCATES: no.
#pragma once

#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

// True where what logs something, or a callback, could run out of calls although the program does
// not: few are left, of the limit that is set.
int cyclewatch_calls_are_nearly_spent(void);

#ifdef __cplusplus
}
#endif
