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

// An attribute name as it occurs in a code object. `number` is its index in co_names, or -1.
// `constant` is the string constant that contains the name, as in `setattr(object, "name", value)`,
// or null.
struct cyclewatch_attribute {
    Py_ssize_t number;
    PyObject* constant;
};

enum cyclewatch_store_kind {
    CYCLEWATCH_STORE_NAMED,     // object.name = value, setattr(object, "name", value)
    CYCLEWATCH_STORE_BY_CALL,   // function(object, "name", value), which may set the attribute
    CYCLEWATCH_STORE_COMPUTED,  // setattr(object, expression, value), which may set the attribute
    CYCLEWATCH_STORE_INTO,      // object.name.append(value), object.name[key] = value
};

// One store of an attribute, such as `object.name = value`. In `object.name[key] = value`, `key` is
// treated as the stored value if it is the first parameter (usually `self`) of the function.
struct cyclewatch_store {
    enum cyclewatch_store_kind kind;
    int variable;                     // the variable that holds the object; -1: unknown
    int in_dict;                      // object.__dict__["name"] = value, which calls no setter
    struct cyclewatch_operand value;  // the stored value
    int offset;                       // byte offset in the code, for cyclewatch_line_at()
};

// Returns nonzero to end the visit.
typedef int (*cyclewatch_store_visitor)(const struct cyclewatch_store* store, void* arg);

// Visits the stores of one attribute in the order of the instructions. Stores include calls to
// setattr(), object.__setattr__() and other functions that may set the attribute, as well as stores
// into the `__dict__` of a variable or into the container to which the attribute refers.
int cyclewatch_visit_stores(PyCodeObject* code,
                            struct cyclewatch_attribute attribute,
                            cyclewatch_store_visitor visit,
                            void* arg);

struct cyclewatch_read {
    int of_attribute;  // true: of an attribute of a variable, as in `self.child.name`
    int offset;        // byte offset in the code
};

// Returns nonzero to end the visit.
typedef int (*cyclewatch_read_visitor)(const struct cyclewatch_read* read, void* arg);

// Visits each instruction that loads attribute number `name`, unless the loaded value is called
// immediately. `hooks.append(self.on_step)`, for example, loads `on_step` without calling it.
int cyclewatch_visit_reads(PyCodeObject* code,
                           Py_ssize_t name,
                           cyclewatch_read_visitor visit,
                           void* arg);

#ifdef __cplusplus
}
#endif
