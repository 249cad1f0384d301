// SPDX-License-Identifier: Apache-2.0
// Tracks the values on the interpreter's stack while bytecode is read, without running it. Records,
// for each value, the variable from which it was loaded or the call that returned it. Used to
// determine which classes create instances of others, and whether a stored value was created or
// passed in (capture/class_methods and store_search). Only the instructions that matter for this
// purpose are interpreted; the values that other instructions push are unknown.
//
// Everything here: REQUIRES: as instructions.h. RUNS PYTHON: never. ALLOCATES: no. Results are
// borrowed from the code object.
#pragma once

#include <Python.h>

#include <stdint.h>

#include "compat/instructions.h"

#ifdef __cplusplus
extern "C" {
#endif

// `variable` and `of_variable` are indices into the frame's variables (code_names.h), or -1. In an
// unknown value, both indices are -1 and all other fields are 0.
struct cyclewatch_operand {
    int variable;              // the variable from which the value was loaded
    int of_variable;           // the variable of which the value is an attribute
    PyObject* constant;        // a constant of the code (None for a small integer), or null
    int is_call;               // true: the result of a call
    PyObject* name;            // name of the value or of the called function, or null
    PyObject* first_argument;  // of the call: name of the first argument, or null
    uint32_t arguments;        // of the call: bit v is set if variable v < 32 is passed
};

enum { CYCLEWATCH_OPERANDS = 24, CYCLEWATCH_ASSIGNED = 32, CYCLEWATCH_BRANCHES = 4 };

struct cyclewatch_operand_stack {
    struct cyclewatch_operand values[CYCLEWATCH_OPERANDS];  // the lowest ones
    int depth;
    struct cyclewatch_operand assigned[CYCLEWATCH_ASSIGNED];
    uint32_t was_assigned;  // bit v: a value that is not a constant was assigned to variable v
    struct {
        Py_ssize_t target;
        int depth;
    } branches[CYCLEWATCH_BRANCHES];  // the latest forward jumps
    int next_branch;
    int is_reached;  // false: control never passes from the previous instruction to this one
};

// Returns the value at `depth` below the top. If the value was loaded from a variable to which the
// code has assigned a value, returns the assigned value instead. If the code has assigned the
// variable several times, the result is unknown.
struct cyclewatch_operand cyclewatch_operand_at(const struct cyclewatch_operand_stack* stack,
                                                int depth);

// Returns the variable from which the value at `depth` below the top was loaded; -1 if unknown.
int cyclewatch_variable_at(const struct cyclewatch_operand_stack* stack, int depth);

// Called before each instruction takes effect. Returns nonzero to end the visit.
typedef int (*cyclewatch_operands_visitor)(const struct cyclewatch_operand_stack* stack,
                                           const struct cyclewatch_instruction* instruction,
                                           void* arg);

int cyclewatch_visit_operands(PyCodeObject* code, cyclewatch_operands_visitor visit, void* arg);

// `called` describes the result of the call. `offset` is the byte offset of the call in the code,
// for cyclewatch_line_at(). Returns nonzero to end the visit.
typedef int (*cyclewatch_call_visitor)(const struct cyclewatch_operand* called,
                                       int offset,
                                       void* arg);

// Visits the calls in the order of the instructions, up to the first unreadable instruction.
int cyclewatch_visit_calls(PyCodeObject* code, cyclewatch_call_visitor visit, void* arg);

#ifdef __cplusplus
}
#endif
