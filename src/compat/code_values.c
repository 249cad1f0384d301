// SPDX-License-Identifier: Apache-2.0
#include "compat/code_values.h"

#include <opcode.h>

#include "compat/features.h"
#include "compat/instructions.h"

static int gives_out(int opcode) {
    return opcode == RETURN_VALUE || opcode == YIELD_VALUE;
}

static int calls(int opcode) {
#ifdef CALL_KW
    if (opcode == CALL_KW) {
        return 1;
    }
#endif
    return opcode == CALL;
}

static int show_top(const struct cyclewatch_operand_stack* stack,
                    enum cyclewatch_use use,
                    cyclewatch_value_visitor visit,
                    void* arg) {
    const struct cyclewatch_operand value = cyclewatch_latest_on_top(stack);
    return visit(&value, use, arg);
}

int cyclewatch_visit_values(PyCodeObject* code, cyclewatch_value_visitor visit, void* arg) {
    struct cyclewatch_operand_stack stack;
    cyclewatch_begin_operands(&stack);
    struct cyclewatch_instruction at = {0};
    int result = 0;
    while (result == 0 && cyclewatch_next_instruction(code, &at)) {
        cyclewatch_arrive(&stack, at.index);
        if (gives_out(at.opcode)) {
            result = show_top(&stack, CYCLEWATCH_GIVEN_OUT, visit, arg);
        }
        cyclewatch_follow(&stack, code, &at);
        if (result == 0 && calls(at.opcode)) {
            result = show_top(&stack, CYCLEWATCH_CALL_RESULT, visit, arg);
        }
    }
    return result;
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
            const struct cyclewatch_operand called = cyclewatch_latest_on_top(&stack);
            result = visit(
                called.is_call ? called.name : NULL, &first, cyclewatch_byte_offset(at.index), arg);
        }
    }
    return result;
}
