// SPDX-License-Identifier: Apache-2.0
#include "compat/operand_stack.h"

#include "compat/code_names.h"
#include "compat/features.h"

static const struct cyclewatch_operand kUnknown = {.variable = -1, .of_variable = -1};

static uint32_t bit(int variable) {
    return variable >= 0 && variable < CYCLEWATCH_ASSIGNED ? (uint32_t)1 << variable : 0;
}

static struct cyclewatch_operand look(const struct cyclewatch_operand_stack* stack, int depth) {
    const int index = stack->depth - 1 - depth;
    return index >= 0 && index < CYCLEWATCH_OPERANDS ? stack->values[index] : kUnknown;
}

struct cyclewatch_operand cyclewatch_operand_at(const struct cyclewatch_operand_stack* stack,
                                                int depth) {
    const struct cyclewatch_operand value = look(stack, depth);
    return (stack->was_assigned & bit(value.variable)) != 0 ? stack->assigned[value.variable]
                                                            : value;
}

int cyclewatch_variable_at(const struct cyclewatch_operand_stack* stack, int depth) {
    return look(stack, depth).variable;
}

#if CYCLEWATCH_LAYOUTS_KNOWN
#include <opcode.h>

static void replace(struct cyclewatch_operand_stack* stack,
                    int depth,
                    struct cyclewatch_operand value) {
    const int index = stack->depth - 1 - depth;
    if (index >= 0 && index < CYCLEWATCH_OPERANDS) {
        stack->values[index] = value;
    }
}

static void push(struct cyclewatch_operand_stack* stack, struct cyclewatch_operand value) {
    ++stack->depth;
    replace(stack, 0, value);
}

static void pop(struct cyclewatch_operand_stack* stack, int count) {
    stack->depth -= count < stack->depth ? count : stack->depth;
}

static void push_variable(struct cyclewatch_operand_stack* stack, int variable) {
    struct cyclewatch_operand value = kUnknown;
    value.variable = variable;
    push(stack, value);
}

static void push_name(struct cyclewatch_operand_stack* stack, PyObject* name, int of_variable) {
    struct cyclewatch_operand value = kUnknown;
    value.name = name;
    value.of_variable = of_variable;
    push(stack, value);
}

static void push_constant(struct cyclewatch_operand_stack* stack, PyObject* constant) {
    struct cyclewatch_operand value = kUnknown;
    value.constant = constant;
    push(stack, value);
}

// Ignores assignments of constants, because most of them only initialize a variable to None.
static void assign(struct cyclewatch_operand_stack* stack, int variable) {
    const struct cyclewatch_operand value = cyclewatch_operand_at(stack, 0);
    pop(stack, 1);
    if (bit(variable) == 0 || value.constant != NULL) {
        return;
    }
    stack->assigned[variable] = (stack->was_assigned & bit(variable)) != 0 ? kUnknown : value;
    stack->was_assigned |= bit(variable);
}

static PyObject* name_at(const struct cyclewatch_operand_stack* stack,
                         PyCodeObject* code,
                         int depth) {
    const struct cyclewatch_operand value = look(stack, depth);
    return value.name != NULL || value.variable < 0
               ? value.name
               : cyclewatch_variable_name(code, value.variable);
}

static int names_keywords(int opcode) {
#ifdef CALL_KW
    return opcode == CALL_KW;
#else
    (void)opcode;
    return 0;
#endif
}

static int is_call(int opcode) {
    return opcode == CALL || names_keywords(opcode);
}

// The result of a call such as `f(a, b)`. The two words below the arguments are the function and
// NULL, or a method and its object. For CALL_KW, the tuple of keyword names is on top of the stack.
static struct cyclewatch_operand call_result(const struct cyclewatch_operand_stack* stack,
                                             PyCodeObject* code,
                                             const struct cyclewatch_instruction* at) {
    const int top = names_keywords(at->opcode);
    const int callee = top + at->argument;
    struct cyclewatch_operand result = kUnknown;
    result.is_call = 1;
    result.first_argument = callee > top ? name_at(stack, code, callee - 1) : NULL;
    for (int depth = top; depth < callee; ++depth) {
        const struct cyclewatch_operand value = cyclewatch_operand_at(stack, depth);
        result.arguments |=
            bit(cyclewatch_variable_at(stack, depth)) | bit(value.variable) | value.arguments;
    }
    result.name = name_at(stack, code, callee + 1);
    if (result.name == NULL) {
        result.name = name_at(stack, code, callee);
    }
    return result;
}

static void load_attribute(struct cyclewatch_operand_stack* stack, PyObject* name, int as_method) {
    const struct cyclewatch_operand object = look(stack, 0);
    pop(stack, 1);
    push_name(stack, name, object.variable);
    if (as_method) {
        push(stack, object);
    }
}

static void load_global(struct cyclewatch_operand_stack* stack, PyObject* name, int with_null) {
    if (with_null && !CYCLEWATCH_CALLEE_IS_BELOW_NULL) {
        push(stack, kUnknown);
    }
    push_name(stack, name, -1);
    if (with_null && CYCLEWATCH_CALLEE_IS_BELOW_NULL) {
        push(stack, kUnknown);
    }
}

static void swap(struct cyclewatch_operand_stack* stack, int depth) {
    const struct cyclewatch_operand top = look(stack, 0);
    replace(stack, 0, look(stack, depth));
    replace(stack, depth, top);
}

// Applies any other instruction: the values that it pushes or may replace become unknown.
static void follow_other(struct cyclewatch_operand_stack* stack, int opcode, int argument) {
    const int effect = PyCompile_OpcodeStackEffectWithJump(opcode, argument, 0);
    if (effect > CYCLEWATCH_OPERANDS || effect == PY_INVALID_STACK_EFFECT) {
        stack->depth = 0;
        return;
    }
    for (int i = 0; i < effect; ++i) {
        push(stack, kUnknown);
    }
    pop(stack, effect < 0 ? -effect : 0);
    const int only_pops =
        opcode == POP_TOP || opcode == STORE_ATTR || cyclewatch_jumps_forward(opcode);
    for (int depth = 0; depth <= (effect > 0 ? effect : 0) && !only_pops; ++depth) {
        replace(stack, depth, kUnknown);
    }
}

static int follow_variables(struct cyclewatch_operand_stack* stack, int opcode, int argument) {
    switch (opcode) {
        case LOAD_FAST:
        case LOAD_DEREF:
#ifdef LOAD_FAST_CHECK
        case LOAD_FAST_CHECK:
#endif
#if CYCLEWATCH_COMPILER_BORROWS_VARIABLES
        case LOAD_FAST_BORROW:
#endif
            push_variable(stack, argument);
            return 1;
        case STORE_FAST:
        case STORE_DEREF:
            assign(stack, argument);
            return 1;
#if CYCLEWATCH_COMPILER_PAIRS_VARIABLES
        case LOAD_FAST_LOAD_FAST:
#if CYCLEWATCH_COMPILER_BORROWS_VARIABLES
        case LOAD_FAST_BORROW_LOAD_FAST_BORROW:
#endif
            push_variable(stack, argument >> 4);
            push_variable(stack, argument & 15);
            return 1;
        case STORE_FAST_LOAD_FAST:
            assign(stack, argument >> 4);
            push_variable(stack, argument & 15);
            return 1;
        case STORE_FAST_STORE_FAST:
            assign(stack, argument >> 4);
            assign(stack, argument & 15);
            return 1;
#endif
        default:
            return 0;
    }
}

// code.replace() may create code whose instructions use indices beyond the end of its tuples.
static PyObject* item_or(PyObject* tuple, int index, PyObject* otherwise) {
    return index < PyTuple_GET_SIZE(tuple) ? PyTuple_GET_ITEM(tuple, index) : otherwise;
}

static void follow_name(struct cyclewatch_operand_stack* stack,
                        PyObject* names,
                        int opcode,
                        int argument) {
    int index = argument;
    int flag = 0;
    if (opcode == LOAD_GLOBAL || (opcode == LOAD_ATTR && !CYCLEWATCH_HAS_LOAD_METHOD)) {
        index = argument >> 1;
        flag = argument & 1;
    }
    PyObject* const name = item_or(names, index, NULL);
    if (opcode == LOAD_GLOBAL) {
        load_global(stack, name, flag);
    } else {
        load_attribute(stack, name, flag || opcode != LOAD_ATTR);
    }
}

static void follow(struct cyclewatch_operand_stack* stack,
                   PyCodeObject* code,
                   const struct cyclewatch_instruction* at) {
    const int argument = at->argument;
    if (follow_variables(stack, at->opcode, argument)) {
        return;
    }
    if (is_call(at->opcode)) {
        const struct cyclewatch_operand result = call_result(stack, code, at);
        pop(stack, argument + 2 + names_keywords(at->opcode));
        push(stack, result);
        return;
    }
    switch (at->opcode) {
        case NOP:
        case RESUME:
        case EXTENDED_ARG:
#ifdef NOT_TAKEN
        case NOT_TAKEN:
#endif
#ifdef PRECALL
        case PRECALL:
#endif
#ifdef KW_NAMES
        case KW_NAMES:
#endif
            break;
        case PUSH_NULL:
#ifdef LOAD_CLOSURE
        case LOAD_CLOSURE:
#endif
            push(stack, kUnknown);
            break;
        case LOAD_CONST:
            push_constant(stack, item_or(code->co_consts, argument, Py_None));
            break;
#if CYCLEWATCH_COMPILER_BORROWS_VARIABLES
        case LOAD_SMALL_INT:
        case LOAD_COMMON_CONSTANT:
            push_constant(stack, Py_None);
            break;
#endif
        case LOAD_GLOBAL:
        case LOAD_ATTR:
#if CYCLEWATCH_HAS_LOAD_METHOD
        case LOAD_METHOD:
#endif
            follow_name(stack, code->co_names, at->opcode, argument);
            break;
        case COPY:
            push(stack, look(stack, argument - 1));
            break;
        case SWAP:
            swap(stack, argument - 1);
            break;
        default:
            follow_other(stack, at->opcode, argument);
    }
}

// If several branches meet here, for example after `a if b else c`, the topmost value is unknown.
static void arrive(struct cyclewatch_operand_stack* stack, Py_ssize_t index) {
    int ways = stack->is_reached;
    for (int i = 0; i < CYCLEWATCH_BRANCHES; ++i) {
        if (stack->branches[i].target == index) {
            stack->depth = stack->branches[i].depth;
            ++ways;
        }
    }
    if (ways == 0) {
        stack->depth = 0;
    } else if (ways > 1) {
        replace(stack, 0, kUnknown);
    }
}

int cyclewatch_visit_operands(PyCodeObject* code, cyclewatch_operands_visitor visit, void* arg) {
    struct cyclewatch_operand_stack stack = {.is_reached = 1};
    struct cyclewatch_instruction at = {0};
    int result = 0;
    while (result == 0 && cyclewatch_next_instruction(code, &at)) {
        if (at.index > 0) {
            arrive(&stack, at.index);
        }
        if (cyclewatch_jumps_forward(at.opcode)) {
            const int effect = PyCompile_OpcodeStackEffectWithJump(at.opcode, at.argument, 1);
            stack.branches[stack.next_branch].target = at.next + at.argument;
            stack.branches[stack.next_branch].depth = stack.depth + effect;
            stack.next_branch = (stack.next_branch + 1) % CYCLEWATCH_BRANCHES;
        }
        result = visit(&stack, &at, arg);
        follow(&stack, code, &at);
        stack.is_reached = !cyclewatch_never_continues(at.opcode);
    }
    return result;
}

struct call_visit {
    PyCodeObject* code;
    cyclewatch_call_visitor visit;
    void* arg;
};

static int visit_if_call(const struct cyclewatch_operand_stack* stack,
                         const struct cyclewatch_instruction* at,
                         void* arg) {
    const struct call_visit* const outer = arg;
    if (!is_call(at->opcode)) {
        return 0;
    }
    const struct cyclewatch_operand called = call_result(stack, outer->code, at);
    return outer->visit(&called, cyclewatch_byte_offset(at->index), outer->arg);
}

int cyclewatch_visit_calls(PyCodeObject* code, cyclewatch_call_visitor visit, void* arg) {
    struct call_visit outer = {code, visit, arg};
    return cyclewatch_visit_operands(code, visit_if_call, &outer);
}

#else

int cyclewatch_visit_operands(PyCodeObject* code, cyclewatch_operands_visitor visit, void* arg) {
    (void)code, (void)visit, (void)arg;
    return 0;
}

int cyclewatch_visit_calls(PyCodeObject* code, cyclewatch_call_visitor visit, void* arg) {
    (void)code, (void)visit, (void)arg;
    return 0;
}

#endif
