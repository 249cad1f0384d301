// SPDX-License-Identifier: Apache-2.0
// C, not C++: some of the interpreter's internal headers are not valid C++ (_Atomic).
#define Py_BUILD_CORE 1
// The tables of specialised instructions and inline caches are not exported: they become ours.
#define NEED_OPCODE_TABLES 1
#define NEED_OPCODE_METADATA 1
#include "compat/attribute_stores.h"

#include "compat/features.h"
#include "compat/layout_switches.h"

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

static int argument_of(_Py_CODEUNIT unit) {
    return unit.op.arg;
}

// What an instruction was before sys.monitoring (a debugger, a coverage tool) replaced it. Only
// jumps and those followed by inline caches matter: the rest is no store and one unit long anyway.
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

// What INSTRUMENTED_LINE replaced at `index`. The running interpreter says how the table is laid
// out, not the headers: it changed within a minor version.
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
    if (opcode == ENTER_EXECUTOR) {  // what it replaced, the JIT knows
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

static int argument_of(_Py_CODEUNIT unit) {
    return _Py_OPARG(unit);
}

static int opcode_at(PyCodeObject* code, Py_ssize_t index) {
    const int opcode = _Py_OPCODE(_PyCode_CODE(code)[index]);
    const int plain = _PyOpcode_Deopt[opcode];
    return plain == 0 && opcode != 0 ? kUnreadable : plain;
}

#endif

static int jumps_forward(int opcode) {
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

// Where the latest forward jumps lead: at such a place (`a if b else None`, `a or None`) the value
// may be another than the instruction before pushed.
struct jump_targets {
    Py_ssize_t index[4];
    int next;
};

static void remember_jump(struct jump_targets* targets, Py_ssize_t target) {
    targets->index[targets->next] = target;
    targets->next = (targets->next + 1) % 4;
}

static int is_target(const struct jump_targets* targets, Py_ssize_t index) {
    return targets->index[0] == index || targets->index[1] == index || targets->index[2] == index ||
           targets->index[3] == index;
}

// What is known of the two topmost values, as far as the instructions just before tell.
struct operands {
    int variable;        // holds the topmost value; -1: not known
    int constant;        // the topmost value is a constant
    int below_constant;  // the one below it is
};

static void push_variable(struct operands* top, int variable, int below_constant) {
    top->variable = variable;
    top->constant = 0;
    top->below_constant = below_constant;
}

static void follow(struct operands* top, int opcode, int argument) {
    switch (opcode) {
        case LOAD_FAST:
        case LOAD_DEREF:
#ifdef LOAD_FAST_CHECK
        case LOAD_FAST_CHECK:
#endif
#if CYCLEWATCH_COMPILER_BORROWS_VARIABLES
        case LOAD_FAST_BORROW:
#endif
            push_variable(top, argument, top->constant);
            return;
#if CYCLEWATCH_COMPILER_PAIRS_VARIABLES
        case LOAD_FAST_LOAD_FAST:
#if CYCLEWATCH_COMPILER_BORROWS_VARIABLES
        case LOAD_FAST_BORROW_LOAD_FAST_BORROW:
#endif
            push_variable(top, argument & 15, 0);
            return;
        case STORE_FAST_LOAD_FAST:
            push_variable(top, argument & 15, top->constant);
            return;
#endif
        case LOAD_CONST:
#if CYCLEWATCH_COMPILER_BORROWS_VARIABLES
        case LOAD_SMALL_INT:
        case LOAD_COMMON_CONSTANT:
#endif
            top->constant = 1;
            top->variable = -1;
            return;
        case COPY:  // a = b = CONSTANT
            top->variable = -1;
            return;
        case STORE_ATTR:
            // The value goes on being on top, if it was copied for a further target.
            top->constant = top->below_constant;
            top->variable = -1;
            return;
        case EXTENDED_ARG:
            return;
        default:
            push_variable(top, -1, 0);
            return;
    }
}

int cyclewatch_visit_stores(PyCodeObject* code,
                            Py_ssize_t name,
                            cyclewatch_store_visitor visit,
                            void* arg) {
    if ((cyclewatch_unreliable_layouts & CYCLEWATCH_LAYOUT_INSTRUCTIONS) != 0) {
        return 0;
    }
    struct operands top = {-1, 0, 0};
    struct jump_targets targets = {{-1, -1, -1, -1}, 0};
    int extended = 0;
    for (Py_ssize_t i = 0; i < Py_SIZE(code); ++i) {
        const int opcode = opcode_at(code, i);
        if (opcode == kUnreadable) {
            return 0;
        }
        const int argument = argument_of(_PyCode_CODE(code)[i]) | extended;
        if (is_target(&targets, i)) {
            top.constant = 0;
        }
        if (opcode == STORE_ATTR && argument == name) {
            const struct cyclewatch_store store = {
                top.variable, top.below_constant, (int)(i * (Py_ssize_t)sizeof(_Py_CODEUNIT))};
            const int result = visit(&store, arg);
            if (result != 0) {
                return result;
            }
        }
        follow(&top, opcode, argument);
        extended = opcode == EXTENDED_ARG ? argument << 8 : 0;
        i += _PyOpcode_Caches[opcode];
        if (jumps_forward(opcode)) {
            remember_jump(&targets, i + 1 + argument);
        }
    }
    return 0;
}

#else

int cyclewatch_visit_stores(PyCodeObject* code,
                            Py_ssize_t name,
                            cyclewatch_store_visitor visit,
                            void* arg) {
    (void)code, (void)name, (void)visit, (void)arg;
    return 0;
}

#endif
