// SPDX-License-Identifier: Apache-2.0
#include "compat/attribute_stores.h"

#include <opcode.h>

#include "compat/features.h"
#include "compat/instructions.h"
#include "compat/operand_stack.h"

// The store by the instruction at `index` on the object in `variable`: the value is `depth` below
// the top.
static struct cyclewatch_store store_at(const struct cyclewatch_operand_stack* stack,
                                        Py_ssize_t index,
                                        int variable,
                                        int depth) {
    const struct cyclewatch_operand value = cyclewatch_operand_at(stack, depth);
    const struct cyclewatch_store store = {
        .variable = variable,
        .constant = value.is_constant,
        .value_variable = value.variable,
        .is_call = value.is_call,
        .name = value.name,
        .arguments = value.arguments,
        .offset = cyclewatch_byte_offset(index),
    };
    return store;
}

static int is_called(const struct cyclewatch_operand* value, const char* name) {
    return value->name != NULL && PyUnicode_CompareWithASCIIString(value->name, name) == 0;
}

static int is_constant_at(const struct cyclewatch_operand_stack* stack,
                          int depth,
                          PyObject* constant) {
    return cyclewatch_operand_at(stack, depth).constant == constant;
}

// `setattr(object, "name", value)`: the three are on top, below them the function, with or without
// a word between.
static int calls_setter(const struct cyclewatch_operand_stack* stack) {
    for (int depth = 3; depth <= 4; ++depth) {
        const struct cyclewatch_operand callee = cyclewatch_operand_at(stack, depth);
        if (is_called(&callee, "setattr") || is_called(&callee, "__setattr__")) {
            return 1;
        }
    }
    return 0;
}

// True if the instruction stores the attribute, and then `store` is what it does.
static int stores_attribute(const struct cyclewatch_operand_stack* stack,
                            const struct cyclewatch_instruction* at,
                            const struct cyclewatch_attribute* attribute,
                            struct cyclewatch_store* store) {
    if (at->opcode == STORE_ATTR && at->argument == attribute->number) {
        *store = store_at(stack, at->index, cyclewatch_variable_at(stack, 0), 1);
        return 1;
    }
    if (attribute->constant == NULL) {
        return 0;
    }
    if (at->opcode == CALL && at->argument == 3 && is_constant_at(stack, 1, attribute->constant) &&
        calls_setter(stack)) {
        *store = store_at(stack, at->index, cyclewatch_variable_at(stack, 2), 0);
        return 1;
    }
    if (at->opcode == STORE_SUBSCR && is_constant_at(stack, 0, attribute->constant)) {
        const struct cyclewatch_operand dict = cyclewatch_operand_at(stack, 1);
        *store = store_at(stack, at->index, dict.of_variable, 2);
        return is_called(&dict, "__dict__");
    }
    return 0;
}

int cyclewatch_visit_stores(PyCodeObject* code,
                            struct cyclewatch_attribute attribute,
                            cyclewatch_store_visitor visit,
                            void* arg) {
    struct cyclewatch_operand_stack stack;
    cyclewatch_begin_operands(&stack);
    struct cyclewatch_instruction at = {0};
    while (cyclewatch_next_instruction(code, &at)) {
        cyclewatch_arrive(&stack, at.index);
        struct cyclewatch_store store;
        if (stores_attribute(&stack, &at, &attribute, &store)) {
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
