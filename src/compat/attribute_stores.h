// SPDX-License-Identifier: Apache-2.0
// Finds the instructions that store or read an attribute, without running the code.
//
// Everything here: REQUIRES: GIL held. RUNS PYTHON: never. ALLOCATES: no. Results are borrowed from
// the code object. Code is searched up to the first unreadable instruction (instructions.h).
#pragma once

#include <Python.h>

#include "compat/operand_stack.h"

#ifdef __cplusplus
extern "C" {
#endif

// The name of an attribute in a code object. `number` is its index in co_names, or -1. `constant`
// is the string constant with this text, as in `setattr(object, "name", value)`, or null.
struct cyclewatch_attribute {
    Py_ssize_t number;
    PyObject* constant;
};

enum cyclewatch_store_kind {
    CYCLEWATCH_STORE_NAMED,     // object.name = value, setattr(object, "name", value)
    CYCLEWATCH_STORE_BY_CALL,   // function(object, "name", value), which may set the attribute
    CYCLEWATCH_STORE_COMPUTED,  // setattr(object, expression, value), which may set it as well
    CYCLEWATCH_STORE_INTO,      // object.name.append(value), object.name[key] = value
};

// One `object.name = value`. In `object.name[key] = value`, `key` is treated as the value if it is
// the first parameter of the function.
struct cyclewatch_store {
    enum cyclewatch_store_kind kind;
    int variable;                     // the variable that holds the object; -1: unknown
    struct cyclewatch_operand value;  // the stored value
    int offset;                       // byte offset in the code, for cyclewatch_line_at()
};

// A nonzero result ends the visit.
typedef int (*cyclewatch_store_visitor)(const struct cyclewatch_store* store, void* arg);

// Visits the stores of one attribute in the order of the instructions. These include setattr(),
// object.__setattr__(), stores into the `__dict__` of a variable, calls that may be stores, and
// stores into the container to which the attribute refers.
int cyclewatch_visit_stores(PyCodeObject* code,
                            struct cyclewatch_attribute attribute,
                            cyclewatch_store_visitor visit,
                            void* arg);

struct cyclewatch_read {
    int of_attribute;  // true: of an attribute of a variable, as in `self.child.name`
    int offset;        // byte offset in the code
};

// A nonzero result ends the visit.
typedef int (*cyclewatch_read_visitor)(const struct cyclewatch_read* read, void* arg);

// Visits the instructions that load attribute number `name` without calling it immediately, as in
// `hooks.append(self.on_step)`.
int cyclewatch_visit_reads(PyCodeObject* code,
                           Py_ssize_t name,
                           cyclewatch_read_visitor visit,
                           void* arg);

#ifdef __cplusplus
}
#endif
