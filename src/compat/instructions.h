// SPDX-License-Identifier: Apache-2.0
// The instructions of a code object as the compiler emitted them: specialized and instrumented
// instructions are converted back.
//
// Everything here: REQUIRES: GIL held. RUNS PYTHON: never. ALLOCATES: no.
#pragma once

#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

// One instruction. To start before the first instruction, initialize this struct with {0}.
struct cyclewatch_instruction {
    Py_ssize_t index;  // in units
    Py_ssize_t next;   // index of the next instruction, after the inline caches
    int opcode;
    int argument;  // including preceding EXTENDED_ARGs
};

// Advances to the next instruction. Returns false at the end of the code and at an unreadable
// instruction. An instruction is unreadable if the JIT or sys.monitoring has replaced it and the
// original opcode is unknown. Always returns false if the layout of instructions failed the layout
// check (object_layout.h). Instrumented opcodes are converted back only for RESUME, jumps, returns,
// yields and instructions with inline caches; attribute stores have no instrumented opcode.
int cyclewatch_next_instruction(PyCodeObject* code, struct cyclewatch_instruction* instruction);

// True if control never passes from an instruction with this opcode to the next one.
int cyclewatch_never_continues(int opcode);

// True for a conditional or unconditional jump to a later instruction. False for FOR_ITER and SEND,
// which also change the stack.
int cyclewatch_jumps_forward(int opcode);

// Converts the index of a code unit to the byte offset used by line tables.
int cyclewatch_byte_offset(Py_ssize_t index);

#ifdef __cplusplus
}
#endif
