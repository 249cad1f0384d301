// SPDX-License-Identifier: Apache-2.0
// Where code stores or reads an attribute, told from its instructions without running them.
//
// Everything here: REQUIRES: GIL held. RUNS PYTHON: never. ALLOCATES: no. Results borrowed.
#pragma once

#include <Python.h>

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// An attribute as code knows it: its number in co_names, or -1, and the constant that is its name,
// or null (`setattr(object, "name", value)`). Borrowed from the code.
struct cyclewatch_attribute {
    Py_ssize_t number;
    PyObject* constant;
};

// One `object.name = value`. Variables are those of the code (code_names.h); -1: none is known.
struct cyclewatch_store {
    int variable;        // holds the object
    int constant;        // true: the value is a constant, so that nothing of the program's is
                         // referred to
    int value_variable;  // holds the value, and nothing was assigned to it before
    int is_call;         // true: the value is the result of a call
    PyObject* name;      // that the value, or what was called, goes by; null: not known
    uint32_t arguments;  // of the call: bit v stands for variable v, the first 32
    int offset;          // byte offset in the code, for cyclewatch_line_at()
};

// A result other than 0 ends the visit.
typedef int (*cyclewatch_store_visitor)(const struct cyclewatch_store* store, void* arg);

// The stores of one attribute, in the order of the instructions; those by setattr() and
// object.__setattr__(), and into the `__dict__` of a variable, too. Code that is instrumented in a
// way that hides its instructions is left where that begins.
int cyclewatch_visit_stores(PyCodeObject* code,
                            struct cyclewatch_attribute attribute,
                            cyclewatch_store_visitor visit,
                            void* arg);

// The places where attribute number `name` is read for itself, not to be called at once:
// `hooks.append(self.on_step)`. The visitor gets the byte offset in the code.
typedef int (*cyclewatch_read_visitor)(int offset, void* arg);

int cyclewatch_visit_reads(PyCodeObject* code,
                           Py_ssize_t name,
                           cyclewatch_read_visitor visit,
                           void* arg);

#ifdef __cplusplus
}
#endif
