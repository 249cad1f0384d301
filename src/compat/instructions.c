// SPDX-License-Identifier: Apache-2.0
// C, not C++: some of the interpreter's internal headers use _Atomic, which is not valid C++.
#define Py_BUILD_CORE 1
// The tables of specialized instructions and inline caches are not exported, so define them here.
#define NEED_OPCODE_TABLES 1
#define NEED_OPCODE_METADATA 1
#include "compat/instructions.h"

#include "compat/features.h"
#include "compat/object_layout.h"

#if CYCLEWATCH_LAYOUTS_KNOWN
#include <internal/pycore_code.h>
#if CYCLEWATCH_MONITORING_IS_INTERNAL
#include <internal/pycore_instruments.h>
#endif
#if CYCLEWATCH_HAS_OPCODE_METADATA_HEADER
#include <internal/pycore_opcode_metadata.h>
#else
#include <internal/pycore_opcode.h>
#endif

enum { kUnreadable = -1 };

#if CYCLEWATCH_HAS_INSTRUMENTED_OPCODES

static int argument_at(PyCodeObject* code, Py_ssize_t index) {
    return _PyCode_CODE(code)[index].op.arg;
}

// The original opcode of an instruction that sys.monitoring replaced for a debugger or coverage
// tool. Only RESUME, jumps, returns, yields and instructions with inline caches are converted back,
// because all other instrumented instructions are one code unit long and do not store attributes.
static int without_instrument(int opcode) {
    switch (opcode) {
        case INSTRUMENTED_RESUME:
            return RESUME;
        case INSTRUMENTED_CALL:
            return CALL;
#ifdef INSTRUMENTED_CALL_KW
        case INSTRUMENTED_CALL_KW:
            return CALL_KW;
#endif
        case INSTRUMENTED_CALL_FUNCTION_EX:
            return CALL_FUNCTION_EX;
        case INSTRUMENTED_LOAD_SUPER_ATTR:
            return LOAD_SUPER_ATTR;
        case INSTRUMENTED_FOR_ITER:
            return FOR_ITER;
        case INSTRUMENTED_RETURN_VALUE:
            return RETURN_VALUE;
        case INSTRUMENTED_YIELD_VALUE:
            return YIELD_VALUE;
#ifdef INSTRUMENTED_RETURN_CONST
        case INSTRUMENTED_RETURN_CONST:
            return RETURN_CONST;
#endif
        case INSTRUMENTED_JUMP_FORWARD:
            return JUMP_FORWARD;
        case INSTRUMENTED_JUMP_BACKWARD:
            return JUMP_BACKWARD;
        case INSTRUMENTED_POP_JUMP_IF_TRUE:
            return POP_JUMP_IF_TRUE;
        case INSTRUMENTED_POP_JUMP_IF_FALSE:
            return POP_JUMP_IF_FALSE;
        case INSTRUMENTED_POP_JUMP_IF_NONE:
            return POP_JUMP_IF_NONE;
        case INSTRUMENTED_POP_JUMP_IF_NOT_NONE:
            return POP_JUMP_IF_NOT_NONE;
        default:
            return opcode;
    }
}

// The opcode that was replaced with INSTRUMENTED_LINE at `index`. The layout of `lines` changed
// within a minor version and is therefore determined at run time.
static int opcode_under_line(const void* lines, Py_ssize_t index) {
    const uint8_t* const bytes = lines;
    if (CYCLEWATCH_LINE_TABLE_IS_PACKED) {
        return bytes[1 + index * bytes[0]];
    }
    return bytes[2 * index];
}

static int opcode_at(PyCodeObject* code, Py_ssize_t index) {
    int opcode = _PyCode_CODE(code)[index].op.code;
    const _PyCoMonitoringData* monitoring = code->_co_monitoring;
    if (opcode == INSTRUMENTED_LINE) {
        if (monitoring == NULL || monitoring->lines == NULL) {
            return kUnreadable;
        }
        opcode = opcode_under_line(monitoring->lines, index);
    }
    if (opcode == INSTRUMENTED_INSTRUCTION) {
        if (monitoring == NULL || monitoring->per_instruction_opcodes == NULL) {
            return kUnreadable;
        }
        opcode = monitoring->per_instruction_opcodes[index];
    }
#ifdef ENTER_EXECUTOR
    if (opcode == ENTER_EXECUTOR) {  // only the JIT has the original opcode
        return kUnreadable;
    }
#endif
    if (opcode >= MIN_INSTRUMENTED_OPCODE) {
        return without_instrument(opcode);
    }
    const int plain = _PyOpcode_Deopt[opcode];
    return plain == 0 && opcode != 0 ? kUnreadable : plain;
}

#else

static int argument_at(PyCodeObject* code, Py_ssize_t index) {
    return _Py_OPARG(_PyCode_CODE(code)[index]);
}

static int opcode_at(PyCodeObject* code, Py_ssize_t index) {
    const int opcode = _Py_OPCODE(_PyCode_CODE(code)[index]);
    const int plain = _PyOpcode_Deopt[opcode];
    return plain == 0 && opcode != 0 ? kUnreadable : plain;
}

#endif

int cyclewatch_jumps_forward(int opcode) {
    switch (opcode) {
        case JUMP_FORWARD:
#if CYCLEWATCH_CONDITIONAL_JUMPS_HAVE_DIRECTIONS
        case JUMP_IF_FALSE_OR_POP:
        case JUMP_IF_TRUE_OR_POP:
        case POP_JUMP_FORWARD_IF_FALSE:
        case POP_JUMP_FORWARD_IF_TRUE:
        case POP_JUMP_FORWARD_IF_NONE:
        case POP_JUMP_FORWARD_IF_NOT_NONE:
#else
        case POP_JUMP_IF_FALSE:
        case POP_JUMP_IF_TRUE:
        case POP_JUMP_IF_NONE:
        case POP_JUMP_IF_NOT_NONE:
#endif
            return 1;
        default:
            return 0;
    }
}

int cyclewatch_byte_offset(Py_ssize_t index) {
    return (int)(index * (Py_ssize_t)sizeof(_Py_CODEUNIT));
}

int cyclewatch_never_continues(int opcode) {
    switch (opcode) {
        case JUMP_FORWARD:
        case JUMP_BACKWARD:
        case JUMP_BACKWARD_NO_INTERRUPT:
        case RETURN_VALUE:
#ifdef RETURN_CONST
        case RETURN_CONST:
#endif
        case RAISE_VARARGS:
        case RERAISE:
            return 1;
        default:
            return 0;
    }
}

int cyclewatch_next_instruction(PyCodeObject* code, struct cyclewatch_instruction* instruction) {
    if (cyclewatch_layouts_failed || instruction->next >= Py_SIZE(code)) {
        return 0;
    }
    const int extended = instruction->opcode == EXTENDED_ARG ? instruction->argument << 8 : 0;
    const int opcode = opcode_at(code, instruction->next);
    if (opcode == kUnreadable) {
        return 0;
    }
    instruction->index = instruction->next;
    instruction->opcode = opcode;
    instruction->argument = argument_at(code, instruction->index) | extended;
    instruction->next = instruction->index + 1 + _PyOpcode_Caches[opcode];
    return 1;
}

#else

int cyclewatch_next_instruction(PyCodeObject* code, struct cyclewatch_instruction* instruction) {
    (void)code, (void)instruction;
    return 0;
}

int cyclewatch_never_continues(int opcode) {
    (void)opcode;
    return 0;
}

int cyclewatch_jumps_forward(int opcode) {
    (void)opcode;
    return 0;
}

int cyclewatch_byte_offset(Py_ssize_t index) {
    (void)index;
    return 0;
}

#endif
