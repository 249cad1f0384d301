// SPDX-License-Identifier: Apache-2.0
#include "compat/operand_stack.h"

#include "compat/code_names.h"
#include "compat/features.h"

#if CYCLEWATCH_LAYOUTS_KNOWN
#include <opcode.h>

#include <string.h>

static const struct cyclewatch_operand kNothingKnown = {-1, -1, 0, NULL, 0, NULL, 0};

static void push(struct cyclewatch_operands* operands, struct cyclewatch_operand value) {
    if (operands->count == CYCLEWATCH_OPERANDS) {
        --operands->count;
        memmove(operands->values, operands->values + 1, operands->count * sizeof value);
    }
    operands->values[operands->count++] = value;
}

static struct cyclewatch_operand look(const struct cyclewatch_operands* operands, int depth) {
    return depth < operands->count ? operands->values[operands->count - 1 - depth] : kNothingKnown;
}

static struct cyclewatch_operand pop(struct cyclewatch_operands* operands) {
    const struct cyclewatch_operand top = look(operands, 0);
    operands->count -= operands->count > 0;
    return top;
}

static void pop_many(struct cyclewatch_operands* operands, int count) {
    operands->count -= count < operands->count ? count : operands->count;
}

static void forget(struct cyclewatch_operands* operands, int depth) {
    if (depth < operands->count) {
        operands->values[operands->count - 1 - depth] = kNothingKnown;
    }
}

static struct cyclewatch_operand loaded(int variable) {
    struct cyclewatch_operand value = kNothingKnown;
    value.variable = variable;
    return value;
}

static struct cyclewatch_operand called_by(PyObject* name) {
    struct cyclewatch_operand value = kNothingKnown;
    value.name = name;
    return value;
}

static PyObject* item(PyObject* tuple, int index) {
    return index < PyTuple_GET_SIZE(tuple) ? PyTuple_GET_ITEM(tuple, index) : NULL;
}

static PyObject* name_number(PyCodeObject* code, int index) {
    return item(code->co_names, index);
}

static uint32_t bit(int variable) {
    return variable >= 0 && variable < CYCLEWATCH_ASSIGNED ? (uint32_t)1 << variable : 0;
}

// A constant, as a rule the None that stands for "not yet", is no second value.
static void assign(struct cyclewatch_operand_stack* stack, int variable) {
    const struct cyclewatch_operand value = cyclewatch_operand_at(stack, 0);
    pop(&stack->operands);
    if (bit(variable) == 0 || value.is_constant) {
        return;
    }
    stack->assigned[variable] = (stack->was_assigned & bit(variable)) != 0 ? kNothingKnown : value;
    stack->was_assigned |= bit(variable);
}

// `f(a, b)`: of the two words below the arguments one is the function, or they are a method and
// its object.
static void call(struct cyclewatch_operand_stack* stack, PyCodeObject* code, int arguments) {
    struct cyclewatch_operands* const operands = &stack->operands;
    struct cyclewatch_operand result = kNothingKnown;
    result.is_call = 1;
    for (int i = 0; i < arguments; ++i) {
        const struct cyclewatch_operand value = cyclewatch_operand_at(stack, i);
        result.arguments |= bit(look(operands, i).variable) | bit(value.variable) | value.arguments;
    }
    for (int depth = arguments + 1; depth >= arguments && result.name == NULL; --depth) {
        const struct cyclewatch_operand callee = look(operands, depth);
        result.name = callee.name != NULL || callee.variable < 0
                          ? callee.name
                          : cyclewatch_variable_name(code, callee.variable);
    }
    pop_many(operands, arguments + 2);
    push(operands, result);
}

static void load_attribute(struct cyclewatch_operands* operands, PyObject* name, int as_method) {
    const struct cyclewatch_operand object = pop(operands);
    struct cyclewatch_operand value = called_by(name);
    value.of_variable = object.variable;
    push(operands, value);
    if (as_method) {
        push(operands, object);
    }
}

static void load_global(struct cyclewatch_operands* operands, PyObject* name, int with_null) {
#if CYCLEWATCH_CALLEE_IS_BELOW_NULL
    push(operands, called_by(name));
    if (with_null) {
        push(operands, kNothingKnown);
    }
#else
    if (with_null) {
        push(operands, kNothingKnown);
    }
    push(operands, called_by(name));
#endif
}

static void swap(struct cyclewatch_operands* operands, int depth) {
    if (depth > operands->count) {
        forget(operands, 0);
        return;
    }
    struct cyclewatch_operand* const top = &operands->values[operands->count - 1];
    struct cyclewatch_operand* const other = &operands->values[operands->count - depth];
    const struct cyclewatch_operand value = *top;
    *top = *other;
    *other = value;
}

// Any instruction: what it leaves on top, and what it may have replaced there, is not known.
static void follow_any(struct cyclewatch_operands* operands, int effect) {
    if (effect > CYCLEWATCH_OPERANDS || effect == PY_INVALID_STACK_EFFECT) {
        operands->count = 0;
        return;
    }
    for (int i = 0; i < effect; ++i) {
        push(operands, kNothingKnown);
    }
    pop_many(operands, effect < 0 ? -effect : 0);
    for (int depth = 0; depth <= (effect > 0 ? effect : 0); ++depth) {
        forget(operands, depth);
    }
}

// Those that leave what is below them as it is.
static int only_pops(int opcode) {
    switch (opcode) {
        case POP_TOP:
        case STORE_ATTR:
        case STORE_SUBSCR:
        case STORE_GLOBAL:
        case STORE_NAME:
        case DELETE_ATTR:
        case DELETE_SUBSCR:
            return 1;
        default:
            return cyclewatch_jumps_forward(opcode);
    }
}

static int changes_nothing(int opcode) {
    switch (opcode) {
        case NOP:
        case RESUME:
        case CACHE:
        case EXTENDED_ARG:
        case MAKE_CELL:
        case COPY_FREE_VARS:
        case DELETE_FAST:
        case DELETE_DEREF:
        case DELETE_GLOBAL:
        case DELETE_NAME:
#ifdef NOT_TAKEN
        case NOT_TAKEN:
#endif
#ifdef PRECALL
        case PRECALL:
#endif
#ifdef KW_NAMES
        case KW_NAMES:
#endif
            return 1;
        default:
            return 0;
    }
}

static int only_pushes(int opcode) {
    switch (opcode) {
        case PUSH_NULL:
        case IMPORT_FROM:
        case LOAD_BUILD_CLASS:
#ifdef LOAD_CLOSURE
        case LOAD_CLOSURE:
#endif
            return 1;
        default:
            return 0;
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
            push(&stack->operands, loaded(argument));
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
            push(&stack->operands, loaded(argument >> 4));
            push(&stack->operands, loaded(argument & 15));
            return 1;
        case STORE_FAST_LOAD_FAST:
            assign(stack, argument >> 4);
            push(&stack->operands, loaded(argument & 15));
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

static int follow_names(struct cyclewatch_operands* operands,
                        PyCodeObject* code,
                        int opcode,
                        int argument) {
    switch (opcode) {
        case LOAD_GLOBAL:
            load_global(operands, name_number(code, argument >> 1), argument & 1);
            return 1;
        case LOAD_NAME:
            push(operands, called_by(name_number(code, argument)));
            return 1;
#if CYCLEWATCH_METHODS_ARE_LOADED_APART
        case LOAD_ATTR:
            load_attribute(operands, name_number(code, argument), 0);
            return 1;
        case LOAD_METHOD:
            load_attribute(operands, name_number(code, argument), 1);
            return 1;
#else
        case LOAD_ATTR:
            load_attribute(operands, name_number(code, argument >> 1), argument & 1);
            return 1;
#endif
        default:
            return 0;
    }
}

static int follow_values(struct cyclewatch_operand_stack* stack,
                         PyCodeObject* code,
                         int opcode,
                         int argument) {
    struct cyclewatch_operands* const operands = &stack->operands;
    struct cyclewatch_operand constant = kNothingKnown;
    switch (opcode) {
        case LOAD_CONST:
#if CYCLEWATCH_COMPILER_BORROWS_VARIABLES
        case LOAD_SMALL_INT:
        case LOAD_COMMON_CONSTANT:
#endif
            constant.constant = opcode == LOAD_CONST ? item(code->co_consts, argument) : NULL;
            constant.is_constant = 1;
            push(operands, constant);
            return 1;
        case CALL:
            call(stack, code, argument);
            return 1;
#ifdef CALL_KW
        case CALL_KW:
            pop(operands);  // the names of the keywords
            call(stack, code, argument);
            return 1;
#endif
        case COPY:
            push(operands, look(operands, argument - 1));
            return 1;
        case SWAP:
            swap(operands, argument);
            return 1;
        default:
            return 0;
    }
}

static void follow_operands(struct cyclewatch_operand_stack* stack,
                            PyCodeObject* code,
                            int opcode,
                            int argument) {
    if (changes_nothing(opcode) || follow_variables(stack, opcode, argument) ||
        follow_names(&stack->operands, code, opcode, argument) ||
        follow_values(stack, code, opcode, argument)) {
        return;
    }
    const int effect = PyCompile_OpcodeStackEffectWithJump(opcode, argument, 0);
    if (only_pops(opcode) && effect <= 0) {
        pop_many(&stack->operands, -effect);
    } else if (only_pushes(opcode)) {
        push(&stack->operands, kNothingKnown);
    } else {
        follow_any(&stack->operands, effect);
    }
}

// `values`: what is on the stack if the jump is taken.
static void remember_target(struct cyclewatch_operand_stack* stack,
                            Py_ssize_t target,
                            const struct cyclewatch_operands* values) {
    stack->targets[stack->next_target] = target;
    stack->at_target[stack->next_target] = *values;
    stack->next_target = (stack->next_target + 1) % CYCLEWATCH_TARGETS;
}

void cyclewatch_begin_operands(struct cyclewatch_operand_stack* stack) {
    memset(stack, 0, sizeof *stack);
    for (int i = 0; i < CYCLEWATCH_TARGETS; ++i) {
        stack->targets[i] = -1;
    }
    stack->reached = 1;
}

void cyclewatch_arrive(struct cyclewatch_operand_stack* stack, Py_ssize_t index) {
    int ways = stack->reached;
    for (int i = 0; i < CYCLEWATCH_TARGETS; ++i) {
        if (stack->targets[i] == index && ways++ == 0) {
            stack->operands = stack->at_target[i];
        }
    }
    if (ways == 0) {
        stack->operands.count = 0;
    } else if (ways > 1) {  // `a if b else c` leaves one of several values
        forget(&stack->operands, 0);
    }
    stack->reached = 1;
}

struct cyclewatch_operand cyclewatch_operand_at(const struct cyclewatch_operand_stack* stack,
                                                int depth) {
    const struct cyclewatch_operand value = look(&stack->operands, depth);
    return (stack->was_assigned & bit(value.variable)) != 0 ? stack->assigned[value.variable]
                                                            : value;
}

int cyclewatch_variable_at(const struct cyclewatch_operand_stack* stack, int depth) {
    return look(&stack->operands, depth).variable;
}

void cyclewatch_follow(struct cyclewatch_operand_stack* stack,
                       PyCodeObject* code,
                       const struct cyclewatch_instruction* instruction) {
    const int opcode = instruction->opcode;
    const struct cyclewatch_operands before = stack->operands;
    follow_operands(stack, code, opcode, instruction->argument);
    if (cyclewatch_jumps_forward(opcode)) {
        // What `x or y` keeps of x if it jumps; all others leave the same on both ways.
        const int keeps = cyclewatch_keeps_value_if_it_jumps(opcode);
        remember_target(
            stack, instruction->next + instruction->argument, keeps ? &before : &stack->operands);
    }
    stack->reached = !cyclewatch_never_goes_on(opcode);
}

#else

void cyclewatch_begin_operands(struct cyclewatch_operand_stack* stack) {
    (void)stack;
}

void cyclewatch_arrive(struct cyclewatch_operand_stack* stack, Py_ssize_t index) {
    (void)stack, (void)index;
}

struct cyclewatch_operand cyclewatch_operand_at(const struct cyclewatch_operand_stack* stack,
                                                int depth) {
    (void)stack, (void)depth;
    const struct cyclewatch_operand nothing = {-1, -1, 0, NULL, 0, NULL, 0};
    return nothing;
}

int cyclewatch_variable_at(const struct cyclewatch_operand_stack* stack, int depth) {
    (void)stack, (void)depth;
    return -1;
}

void cyclewatch_follow(struct cyclewatch_operand_stack* stack,
                       PyCodeObject* code,
                       const struct cyclewatch_instruction* instruction) {
    (void)stack, (void)code, (void)instruction;
}

#endif
