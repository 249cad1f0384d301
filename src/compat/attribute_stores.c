// SPDX-License-Identifier: Apache-2.0
#include "compat/attribute_stores.h"

#include "compat/features.h"
#include "compat/instructions.h"
#include "compat/layout_switches.h"
#include "compat/operand_stack.h"

#if CYCLEWATCH_LAYOUTS_KNOWN
#include <opcode.h>

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
    if ((cyclewatch_unreliable_layouts & CYCLEWATCH_LAYOUT_INSTRUCTIONS) != 0) {
        return 0;
    }
    struct cyclewatch_operand_stack stack;
    cyclewatch_begin_operands(&stack);
    int extended = 0;
    for (Py_ssize_t i = 0; i < Py_SIZE(code); ++i) {
        const int opcode = cyclewatch_opcode_at(code, i);
        if (opcode == CYCLEWATCH_UNREADABLE) {
            return 0;
        }
        const int argument = cyclewatch_argument_at(code, i) | extended;
        cyclewatch_arrive(&stack, i);
        if (opcode == STORE_ATTR && argument == name) {
            const struct cyclewatch_store store = store_at(&stack, i);
            const int result = visit(&store, arg);
            if (result != 0) {
                return result;
            }
        }
        i += cyclewatch_caches_of(opcode);
        cyclewatch_follow(&stack, code, opcode, argument, i + 1);
        extended = opcode == EXTENDED_ARG ? argument << 8 : 0;
    }
    return 0;
}

static int reads_for_itself(int opcode, int argument, Py_ssize_t name) {
    if (opcode != LOAD_ATTR) {
        return 0;
    }
#if CYCLEWATCH_METHODS_ARE_LOADED_APART
    return argument == name;
#else
    return argument == name * 2;  // the lowest bit: to be called at once
#endif
}

int cyclewatch_visit_reads(PyCodeObject* code,
                           Py_ssize_t name,
                           cyclewatch_read_visitor visit,
                           void* arg) {
    if ((cyclewatch_unreliable_layouts & CYCLEWATCH_LAYOUT_INSTRUCTIONS) != 0) {
        return 0;
    }
    int extended = 0;
    for (Py_ssize_t i = 0; i < Py_SIZE(code); ++i) {
        const int opcode = cyclewatch_opcode_at(code, i);
        if (opcode == CYCLEWATCH_UNREADABLE) {
            return 0;
        }
        const int argument = cyclewatch_argument_at(code, i) | extended;
        const int result =
            reads_for_itself(opcode, argument, name) ? visit(cyclewatch_byte_offset(i), arg) : 0;
        if (result != 0) {
            return result;
        }
        i += cyclewatch_caches_of(opcode);
        extended = opcode == EXTENDED_ARG ? argument << 8 : 0;
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

int cyclewatch_visit_reads(PyCodeObject* code,
                           Py_ssize_t name,
                           cyclewatch_read_visitor visit,
                           void* arg) {
    (void)code, (void)name, (void)visit, (void)arg;
    return 0;
}

#endif
