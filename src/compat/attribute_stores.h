// SPDX-License-Identifier: Apache-2.0
// Where code stores an attribute, read from its instructions without running them.
//
// Everything here: REQUIRES: GIL held. RUNS PYTHON: never. ALLOCATES: no. Results borrowed.
#pragma once

#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

// One `object.name = value`.
struct cyclewatch_store {
    int variable;  // of the code, that holds the object (see code_names.h); -1: not a plain
                   // variable
    int constant;  // true: the value is a constant, so that nothing of the program's is referred to
    int offset;    // byte offset in the code, for cyclewatch_line_at()
};

// A result other than 0 ends the visit.
typedef int (*cyclewatch_store_visitor)(const struct cyclewatch_store* store, void* arg);

// The stores of attribute number `name` of co_names, in the order of the instructions. Code that
// is instrumented in a way that hides its instructions is left where that begins.
int cyclewatch_visit_stores(PyCodeObject* code,
                            Py_ssize_t name,
                            cyclewatch_store_visitor visit,
                            void* arg);

#ifdef __cplusplus
}
#endif
