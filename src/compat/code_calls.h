// SPDX-License-Identifier: Apache-2.0
// What code calls, read from its instructions without running them.
//
// Everything here: REQUIRES: GIL held. RUNS PYTHON: never. ALLOCATES: no. Results borrowed.
#pragma once

#include <Python.h>

#include "compat/operand_stack.h"

#ifdef __cplusplus
extern "C" {
#endif

// One call. `called`: its result, with the name of what was called if it is known. `first`: its
// first argument; nothing is known of it if there is none. `offset`: in bytes, for
// cyclewatch_line_at(). A result other than 0 ends the visit.
typedef int (*cyclewatch_call_visitor)(const struct cyclewatch_operand* called,
                                       const struct cyclewatch_operand* first,
                                       int offset,
                                       void* arg);

// In the order of the instructions. Code that is instrumented in a way that hides its instructions
// is left where that begins.
int cyclewatch_visit_calls(PyCodeObject* code, cyclewatch_call_visitor visit, void* arg);

#ifdef __cplusplus
}
#endif
