// SPDX-License-Identifier: Apache-2.0
// What is known of the values on the interpreter's stack while a piece of code is read instruction
// by instruction: which variable one was loaded from, and what was called to get it. Straight code
// is followed exactly, and so are the branches of `a if b else c`; whatever is not followed is not
// known. Nothing is run.
//
// Everything here: REQUIRES: as instructions.h. RUNS PYTHON: never. ALLOCATES: no. Results borrowed
// from the code object.
#pragma once

#include <Python.h>

#include <stdint.h>

#include "compat/instructions.h"

#ifdef __cplusplus
extern "C" {
#endif

// One value. With all fields 0 but both variables -1, nothing is known of it.
struct cyclewatch_operand {
    int variable;        // index in the frame's variables that it was loaded from; -1: none
    int of_variable;     // the one that it is an attribute of; -1: none
    int is_constant;     // true: a constant of the code
    PyObject* constant;  // that constant; or null
    int is_call;         // true: the result of a call
    PyObject* name;      // what the value, or what was called, goes by in the code; or null
    uint32_t arguments;  // of the call: bit v stands for variable v, the first 32
};

enum { CYCLEWATCH_OPERANDS = 16, CYCLEWATCH_ASSIGNED = 32, CYCLEWATCH_TARGETS = 4 };

// The topmost values, the last of `values[0 .. count)` on top.
struct cyclewatch_operands {
    struct cyclewatch_operand values[CYCLEWATCH_OPERANDS];
    int count;
};

// The stack, what was assigned to variables so far, and where the latest forward jumps lead.
struct cyclewatch_operand_stack {
    struct cyclewatch_operands operands;
    struct cyclewatch_operand assigned[CYCLEWATCH_ASSIGNED];
    uint32_t was_assigned;  // bit v: variable v was, by something that is not a constant
    struct cyclewatch_operands at_target[CYCLEWATCH_TARGETS];
    Py_ssize_t targets[CYCLEWATCH_TARGETS];
    int next_target;
    int reached;  // false: the instruction before never goes on to this one
};

// As it is where the code begins.
void cyclewatch_begin_operands(struct cyclewatch_operand_stack* stack);

// To be called before the instruction `index` is looked at.
void cyclewatch_arrive(struct cyclewatch_operand_stack* stack, Py_ssize_t index);

// The value `depth` below the top. A variable that a call's result, or more than one value, was
// assigned to before stands for that.
struct cyclewatch_operand cyclewatch_operand_at(const struct cyclewatch_operand_stack* stack,
                                                int depth);

// The variable that the value `depth` below the top was loaded from; -1: not known.
int cyclewatch_variable_at(const struct cyclewatch_operand_stack* stack, int depth);

// What the instruction does.
void cyclewatch_follow(struct cyclewatch_operand_stack* stack,
                       PyCodeObject* code,
                       const struct cyclewatch_instruction* instruction);

#ifdef __cplusplus
}
#endif
