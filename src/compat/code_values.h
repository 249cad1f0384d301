// SPDX-License-Identifier: Apache-2.0
// What code calls, and what it gives to its caller, told from its instructions without running
// them.
//
// Everything here: REQUIRES: GIL held. RUNS PYTHON: never. ALLOCATES: no. Results borrowed.
#pragma once

#include <Python.h>

#include "compat/operand_stack.h"

#ifdef __cplusplus
extern "C" {
#endif

enum cyclewatch_use {
    CYCLEWATCH_CALL_RESULT,  // what a call gave
    CYCLEWATCH_GIVEN_OUT,    // what is returned or yielded
};

// A result other than 0 ends the visit.
typedef int (*cyclewatch_value_visitor)(const struct cyclewatch_operand* value,
                                        enum cyclewatch_use use,
                                        void* arg);

// In the order of the instructions. Code that is instrumented in a way that hides its instructions
// is left where that begins.
int cyclewatch_visit_values(PyCodeObject* code, cyclewatch_value_visitor visit, void* arg);

// One call. `name`: what was called goes by in the code, or null. `first`: its first argument;
// nothing is known of it if there is none. `offset`: in bytes, for cyclewatch_line_at(). A result
// other than 0 ends the visit.
typedef int (*cyclewatch_call_visitor)(PyObject* name,
                                       const struct cyclewatch_operand* first,
                                       int offset,
                                       void* arg);

// As above.
int cyclewatch_visit_calls(PyCodeObject* code, cyclewatch_call_visitor visit, void* arg);

#ifdef __cplusplus
}
#endif
