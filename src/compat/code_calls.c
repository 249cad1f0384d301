// SPDX-License-Identifier: Apache-2.0
#include "compat/code_calls.h"

#include <opcode.h>

#include "compat/features.h"
#include "compat/instructions.h"

static int calls(int opcode) {
#ifdef CALL_KW
    if (opcode == CALL_KW) {
        return 1;
    }
#endif
    return opcode == CALL;
}

// How deep the first argument of the call is that comes next; -1 if there is none.
static int depth_of_first_argument(const struct cyclewatch_instruction* at) {
    int names = 0;
#ifdef CALL_KW
    names = at->opcode == CALL_KW;  // the tuple of keywords is on top
#endif
    return at->argument == 0 ? -1 : at->argument - 1 + names;
}

int cyclewatch_visit_calls(PyCodeObject* code, cyclewatch_call_visitor visit, void* arg) {
    struct cyclewatch_operand_stack stack;
    cyclewatch_begin_operands(&stack);
    struct cyclewatch_instruction at = {0};
    int result = 0;
    while (result == 0 && cyclewatch_next_instruction(code, &at)) {
        cyclewatch_arrive(&stack, at.index);
        const int depth = calls(at.opcode) ? depth_of_first_argument(&at) : -1;
        struct cyclewatch_operand first = {.variable = -1, .of_variable = -1};
        if (depth >= 0) {
            first = cyclewatch_operand_at(&stack, depth);
            first.variable = cyclewatch_variable_at(&stack, depth);
        }
        cyclewatch_follow(&stack, code, &at);
        if (calls(at.opcode)) {
            const struct cyclewatch_operand called = cyclewatch_operand_at(&stack, 0);
            result = visit(&called, &first, cyclewatch_byte_offset(at.index), arg);
        }
    }
    return result;
}
