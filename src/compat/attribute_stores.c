// SPDX-License-Identifier: Apache-2.0
#include "compat/attribute_stores.h"

#include <opcode.h>

#include "compat/features.h"
#include "compat/instructions.h"
#include "compat/operand_stack.h"

static int has_name(const struct cyclewatch_operand* value, const char* name) {
    return value->name != NULL && PyUnicode_CompareWithASCIIString(value->name, name) == 0;
}

static int is_constant_at(const struct cyclewatch_operand_stack* stack,
                          int depth,
                          PyObject* constant) {
    return cyclewatch_operand_at(stack, depth).constant == constant;
}

// True if the stack contains the operands of `function(object, "name", value)`. The three arguments
// are on top of the stack, and the function is below them, possibly with one word in between.
static int calls(const struct cyclewatch_operand_stack* stack, const char* function) {
    for (int depth = 3; depth <= 4; ++depth) {
        const struct cyclewatch_operand callee = cyclewatch_operand_at(stack, depth);
        if (has_name(&callee, function)) {
            return 1;
        }
    }
    return 0;
}

// Returns true if the three-argument call at this instruction may store the attribute. Sets `kind`.
static int is_store_call(const struct cyclewatch_operand_stack* stack,
                         PyObject* constant,
                         enum cyclewatch_store_kind* kind) {
    const int is_setter = calls(stack, "setattr") || calls(stack, "__setattr__");
    if (constant != NULL && is_constant_at(stack, 1, constant)) {
        *kind = is_setter ? CYCLEWATCH_STORE_NAMED : CYCLEWATCH_STORE_BY_CALL;
        return is_setter || !calls(stack, "getattr");
    }
    *kind = CYCLEWATCH_STORE_COMPUTED;
    return is_setter && cyclewatch_operand_at(stack, 1).constant == NULL;
}

// `object.__dict__["name"] = value`
static int is_dict_store(const struct cyclewatch_operand_stack* stack,
                         const struct cyclewatch_instruction* at,
                         PyObject* constant) {
    const struct cyclewatch_operand dict = cyclewatch_operand_at(stack, 1);
    return at->opcode == STORE_SUBSCR && is_constant_at(stack, 0, constant) &&
           has_name(&dict, "__dict__");
}

static int inserts(const struct cyclewatch_operand* method) {
    return has_name(method, "append") || has_name(method, "add") ||
           has_name(method, "appendleft") || has_name(method, "insert") ||
           has_name(method, "setdefault");
}

// True if the instruction `at` performs `object.name.append(value)` or `object.name[key] = value`.
static int is_store_into(const struct cyclewatch_operand_stack* stack,
                         const struct cyclewatch_instruction* at,
                         PyObject* name,
                         struct cyclewatch_store* store) {
    struct cyclewatch_operand container;
    if (at->opcode == STORE_SUBSCR) {
        const struct cyclewatch_operand key = cyclewatch_operand_at(stack, 0);
        container = cyclewatch_operand_at(stack, 1);
        store->value = key.variable == 0 ? key : cyclewatch_operand_at(stack, 2);
    } else if (at->opcode == CALL && (at->argument == 1 || at->argument == 2)) {
        const struct cyclewatch_operand method = cyclewatch_operand_at(stack, at->argument + 1);
        container = cyclewatch_operand_at(stack, at->argument);
        store->value = cyclewatch_operand_at(stack, 0);
        if (!inserts(&method)) {
            return 0;
        }
    } else {
        return 0;
    }
    store->kind = CYCLEWATCH_STORE_INTO;
    store->variable = container.of_variable;
    return name != NULL && container.name == name;
}

struct store_visit {
    PyObject* name;  // null if co_names does not contain the name
    struct cyclewatch_attribute attribute;
    cyclewatch_store_visitor visit;
    void* arg;
};

static int visit_if_store(const struct cyclewatch_operand_stack* stack,
                          const struct cyclewatch_instruction* at,
                          void* arg) {
    const struct store_visit* const outer = arg;
    PyObject* const constant = outer->attribute.constant;
    struct cyclewatch_store store = {.offset = cyclewatch_byte_offset(at->index)};
    if (at->opcode == STORE_ATTR && at->argument == outer->attribute.number) {
        store.variable = cyclewatch_variable_at(stack, 0);
        store.value = cyclewatch_operand_at(stack, 1);
    } else if (at->opcode == CALL && at->argument == 3 &&
               is_store_call(stack, constant, &store.kind)) {
        store.variable = cyclewatch_variable_at(stack, 2);
        store.value = cyclewatch_operand_at(stack, 0);
    } else if (constant != NULL && is_dict_store(stack, at, constant)) {
        store.variable = cyclewatch_operand_at(stack, 1).of_variable;
        store.value = cyclewatch_operand_at(stack, 2);
        store.in_dict = 1;
    } else if (!is_store_into(stack, at, outer->name, &store)) {
        return 0;
    }
    return outer->visit(&store, outer->arg);
}

int cyclewatch_visit_stores(PyCodeObject* code,
                            struct cyclewatch_attribute attribute,
                            cyclewatch_store_visitor visit,
                            void* arg) {
    PyObject* const name =
        attribute.number >= 0 && attribute.number < PyTuple_GET_SIZE(code->co_names)
            ? PyTuple_GET_ITEM(code->co_names, attribute.number)
            : NULL;
    struct store_visit outer = {name, attribute, visit, arg};
    return cyclewatch_visit_operands(code, visit_if_store, &outer);
}

static int reads_attribute(const struct cyclewatch_instruction* at, Py_ssize_t name) {
    if (at->opcode != LOAD_ATTR) {
        return 0;
    }
#if CYCLEWATCH_HAS_LOAD_METHOD
    return at->argument == name;
#else
    return at->argument == name * 2;  // the lowest bit is set for method calls
#endif
}

struct read_visit {
    Py_ssize_t name;
    cyclewatch_read_visitor visit;
    void* arg;
};

static int visit_if_read(const struct cyclewatch_operand_stack* stack,
                         const struct cyclewatch_instruction* at,
                         void* arg) {
    const struct read_visit* const outer = arg;
    if (!reads_attribute(at, outer->name)) {
        return 0;
    }
    const struct cyclewatch_read read = {
        .of_attribute = cyclewatch_operand_at(stack, 0).of_variable >= 0,
        .offset = cyclewatch_byte_offset(at->index),
    };
    return outer->visit(&read, outer->arg);
}

int cyclewatch_visit_reads(PyCodeObject* code,
                           Py_ssize_t name,
                           cyclewatch_read_visitor visit,
                           void* arg) {
    struct read_visit outer = {name, visit, arg};
    return cyclewatch_visit_operands(code, visit_if_read, &outer);
}
