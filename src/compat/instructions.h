// SPDX-License-Identifier: Apache-2.0
// The instructions of a code object as the compiler wrote them, whatever the interpreter made of
// them since: specialised ones, and those that sys.monitoring replaced.
//
// Everything here: REQUIRES: GIL held; the layout of instructions is reliable (layout_switches.h).
// RUNS PYTHON: never. ALLOCATES: no.
#pragma once

#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CYCLEWATCH_UNREADABLE = -1 };

// The opcode of unit `index` of the code; CYCLEWATCH_UNREADABLE where it is hidden. An instrumented
// instruction that neither jumps nor has inline caches is left as it is: no store is one.
int cyclewatch_opcode_at(PyCodeObject* code, Py_ssize_t index);

// The argument of that unit, without those of EXTENDED_ARG before it.
int cyclewatch_argument_at(PyCodeObject* code, Py_ssize_t index);

// Bytes in front of unit `index`, as line tables count.
int cyclewatch_byte_offset(Py_ssize_t index);

// Number of units of inline cache behind an instruction.
int cyclewatch_caches_of(int opcode);

// True for a jump to a later instruction: conditional or not.
int cyclewatch_jumps_forward(int opcode);

// True for a jump that leaves a value on the stack which it takes off where it does not jump.
int cyclewatch_keeps_value_if_it_jumps(int opcode);

// True if the instruction after this one is never the next to run.
int cyclewatch_never_goes_on(int opcode);

#ifdef __cplusplus
}
#endif
