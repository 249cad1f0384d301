// SPDX-License-Identifier: Apache-2.0
// The instructions of a code object as the compiler wrote them, whatever the interpreter made of
// them since: specialised ones, and those that sys.monitoring replaced.
//
// Everything here: REQUIRES: GIL held. RUNS PYTHON: never. ALLOCATES: no.
#pragma once

#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

// One instruction. What begins as {0} stands in front of the first.
struct cyclewatch_instruction {
    Py_ssize_t index;  // in units
    Py_ssize_t next;   // of the one after it, behind its inline caches
    int opcode;
    int argument;  // with those of EXTENDED_ARG before it
};

// Goes on to the next instruction; false at the end, where the code hides its instructions, and at
// once if the layout of instructions is not reliable (layout_switches.h). An instrumented
// instruction that neither jumps, returns nor has inline caches is left as it is: no store is one.
int cyclewatch_next_instruction(PyCodeObject* code, struct cyclewatch_instruction* instruction);

// Bytes in front of unit `index`, as line tables count.
int cyclewatch_byte_offset(Py_ssize_t index);

#ifdef __cplusplus
}
#endif
