// SPDX-License-Identifier: Apache-2.0
#include "compat/attribute_stores.h"

#include <opcode.h>

#include "compat/features.h"
#include "compat/instructions.h"
#include "compat/operand_stack.h"

// The store by the instruction at `index`: the object is on top, the value below it.
static struct cyclewatch_store store_at(const struct cyclewatch_operand_stack* stack,
                                        Py_ssize_t index) {
    const struct cyclewatch_operand value = cyclewatch_operand_at(stack, 1);
    const struct cyclewatch_store store = {
        .variable = cyclewatch_variable_on_top(stack),
        .constant = value.is_constant,
        .value_variable = value.variable,
        .is_call = value.is_call,
        .name = value.name,
        .arguments = value.arguments,
        .offset = cyclewatch_byte_offset(index),
    };
    return store;
}

int cyclewatch_visit_stores(PyCodeObject* code,
                            Py_ssize_t name,
                            cyclewatch_store_visitor visit,
                            void* arg) {
    struct cyclewatch_operand_stack stack;
    cyclewatch_begin_operands(&stack);
    struct cyclewatch_instruction at = {0};
    while (cyclewatch_next_instruction(code, &at)) {
        cyclewatch_arrive(&stack, at.index);
        if (at.opcode == STORE_ATTR && at.argument == name) {
            const struct cyclewatch_store store = store_at(&stack, at.index);
            const int result = visit(&store, arg);
            if (result != 0) {
                return result;
            }
        }
        cyclewatch_follow(&stack, code, &at);
    }
    return 0;
}

static int reads_for_itself(const struct cyclewatch_instruction* at, Py_ssize_t name) {
    if (at->opcode != LOAD_ATTR) {
        return 0;
    }
#if CYCLEWATCH_METHODS_ARE_LOADED_APART
    return at->argument == name;
#else
    return at->argument == name * 2;  // the lowest bit: to be called at once
#endif
}

int cyclewatch_visit_reads(PyCodeObject* code,
                           Py_ssize_t name,
                           cyclewatch_read_visitor visit,
                           void* arg) {
    struct cyclewatch_instruction at = {0};
    while (cyclewatch_next_instruction(code, &at)) {
        const int result =
            reads_for_itself(&at, name) ? visit(cyclewatch_byte_offset(at.index), arg) : 0;
        if (result != 0) {
            return result;
        }
    }
    return 0;
}
