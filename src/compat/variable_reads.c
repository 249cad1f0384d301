// SPDX-License-Identifier: Apache-2.0
#include "compat/variable_reads.h"

#include <stdint.h>

#include "compat/features.h"
#include "compat/instructions.h"

#if CYCLEWATCH_LAYOUTS_KNOWN
#include <opcode.h>

enum { kMostUnits = 1 << 15, kWord = 64 };

enum effect { kNone, kReads, kReplaces };

// The instructions that the variable's present value can reach.
struct reached {
    PyCodeObject* code;
    Py_ssize_t start;  // the instruction that is being executed
    uint64_t units[kMostUnits / kWord];
    int has_changed;
};

static int is_reached(const struct reached* reached, Py_ssize_t index) {
    return (int)(reached->units[index / kWord] >> (index % kWord) & 1);
}

static void reach(struct reached* reached, Py_ssize_t index) {
    if (index >= 0 && index < Py_SIZE(reached->code) && !is_reached(reached, index)) {
        reached->units[index / kWord] |= (uint64_t)1 << (index % kWord);
        reached->has_changed = 1;
    }
}

static enum effect effect_if(int is_variable, enum effect effect) {
    return is_variable ? effect : kNone;
}

#if CYCLEWATCH_COMPILER_PAIRS_VARIABLES
static enum effect effect_of_pair(int opcode, int first, int second) {
    switch (opcode) {
        case STORE_FAST_LOAD_FAST:
            return first ? kReplaces : effect_if(second, kReads);
        case STORE_FAST_STORE_FAST:
            return effect_if(first || second, kReplaces);
        default:
            return effect_if(first || second, kReads);
    }
}
#endif

static enum effect effect_on(int variable, const struct cyclewatch_instruction* at) {
    switch (at->opcode) {
        case LOAD_FAST:
#ifdef LOAD_FAST_CHECK
        case LOAD_FAST_CHECK:
        case LOAD_FAST_AND_CLEAR:
#endif
#if CYCLEWATCH_COMPILER_BORROWS_VARIABLES
        case LOAD_FAST_BORROW:
#endif
        case LOAD_DEREF:
#ifdef LOAD_CLASSDEREF
        case LOAD_CLASSDEREF:
#endif
#ifdef LOAD_FROM_DICT_OR_DEREF
        case LOAD_FROM_DICT_OR_DEREF:
#endif
#ifdef LOAD_CLOSURE
        case LOAD_CLOSURE:
#endif
            return effect_if(at->argument == variable, kReads);
        case STORE_FAST:
        case DELETE_FAST:
        case STORE_DEREF:
        case DELETE_DEREF:
            return effect_if(at->argument == variable, kReplaces);
#if CYCLEWATCH_COMPILER_PAIRS_VARIABLES
        case LOAD_FAST_LOAD_FAST:
#if CYCLEWATCH_COMPILER_BORROWS_VARIABLES
        case LOAD_FAST_BORROW_LOAD_FAST_BORROW:
#endif
        case STORE_FAST_LOAD_FAST:
        case STORE_FAST_STORE_FAST:
            return effect_of_pair(
                at->opcode, at->argument >> 4 == variable, (at->argument & 15) == variable);
#endif
        default:
            return kNone;
    }
}

// 1 for a jump forward, -1 for a jump backward, otherwise 0.
static int jump_direction(int opcode) {
    switch (opcode) {
        case FOR_ITER:
        case SEND:
            return 1;
        case JUMP_BACKWARD:
        case JUMP_BACKWARD_NO_INTERRUPT:
#if CYCLEWATCH_CONDITIONAL_JUMPS_HAVE_DIRECTIONS
        case POP_JUMP_BACKWARD_IF_FALSE:
        case POP_JUMP_BACKWARD_IF_TRUE:
        case POP_JUMP_BACKWARD_IF_NONE:
        case POP_JUMP_BACKWARD_IF_NOT_NONE:
#endif
            return -1;
        default:
            return cyclewatch_jumps_forward(opcode);
    }
}

// Reads a number of an exception table: six bits per byte, and a bit that is set if another byte
// follows.
static const uint8_t* read_number(const uint8_t* at, const uint8_t* end, Py_ssize_t* number) {
    *number = 0;
    while (at < end) {
        const uint8_t byte = *at++;
        *number = *number << 6 | (byte & 63);
        if ((byte & 64) == 0) {
            break;
        }
    }
    return at;
}

static int any_reached(const struct reached* reached, Py_ssize_t first, Py_ssize_t last) {
    for (Py_ssize_t index = first; index < last && index < Py_SIZE(reached->code); ++index) {
        if (index == reached->start || is_reached(reached, index)) {
            return 1;
        }
    }
    return 0;
}

// Adds the exception handlers of the instructions that are reached.
static void reach_handlers(struct reached* reached) {
    PyObject* const table = reached->code->co_exceptiontable;
    const uint8_t* at = (const uint8_t*)PyBytes_AS_STRING(table);
    const uint8_t* const end = at + PyBytes_GET_SIZE(table);
    while (at < end) {
        Py_ssize_t start = 0;
        Py_ssize_t length = 0;
        Py_ssize_t handler = 0;
        Py_ssize_t depth = 0;
        at = read_number(at, end, &start);
        at = read_number(at, end, &length);
        at = read_number(at, end, &handler);
        at = read_number(at, end, &depth);
        if (any_reached(reached, start, start + length)) {
            reach(reached, handler);
        }
    }
}

// Follows the instructions once, from the first to the last. Returns true if one of them reads the
// variable, or if an instruction is unreadable.
static int follow(struct reached* reached, int variable) {
    struct cyclewatch_instruction at = {0};
    while (cyclewatch_next_instruction(reached->code, &at)) {
        if (!is_reached(reached, at.index)) {
            continue;
        }
        const enum effect effect = effect_on(variable, &at);
        if (effect == kReads) {
            return 1;
        }
        if (effect == kReplaces) {
            continue;
        }
        const int direction = jump_direction(at.opcode);
        if (direction != 0) {
            reach(reached, at.next + direction * at.argument);
        }
        if (!cyclewatch_never_continues(at.opcode)) {
            reach(reached, at.next);
        }
    }
    return at.next < Py_SIZE(reached->code);
}

int cyclewatch_is_read_again(PyCodeObject* code, int variable, Py_ssize_t instruction) {
    const Py_ssize_t size = Py_SIZE(code);
    if (size > kMostUnits || instruction < 0 || instruction >= size) {
        return 1;
    }
    struct reached reached = {.code = code, .start = instruction};
    struct cyclewatch_instruction at = {0};
    while (at.index <= instruction && cyclewatch_next_instruction(code, &at)) {
    }
    if (at.index > instruction) {  // false for the last instruction
        reach(&reached, at.index);
    }
    do {
        reached.has_changed = 0;
        reach_handlers(&reached);
        if (follow(&reached, variable)) {
            return 1;
        }
    } while (reached.has_changed);
    return 0;
}

#else

int cyclewatch_is_read_again(PyCodeObject* code, int variable, Py_ssize_t instruction) {
    (void)code, (void)variable, (void)instruction;
    return 1;
}

#endif
