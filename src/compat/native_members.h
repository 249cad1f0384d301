// SPDX-License-Identifier: Apache-2.0
// What the words of the builtin C types' structs are called, where tp_members does not say.
// Knowledge, not trust: a caller names a word only if tp_traverse visits what it holds.
//
// Everything here: REQUIRES: GIL held. RUNS PYTHON: never. ALLOCATES: no.
#pragma once

#include <Python.h>

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cyclewatch_native_member {
    const char* type;  // tp_name
    unsigned word;     // sizeof(PyObject *) each; 2 is the first behind the object's head
    const char* name;
};

// Where that word stands, counted from the start of the object: heads are not of one length.
static inline size_t cyclewatch_place_of_word(size_t word) {
    return word - 2 + sizeof(PyObject) / sizeof(PyObject*);
}

// The members of the type with that tp_name; null and *count == 0 if it is not in the table.
const struct cyclewatch_native_member* cyclewatch_native_members_of(const char* type_name,
                                                                    size_t* count);

// The whole table, for its test: sorted by type, then by word.
const struct cyclewatch_native_member* cyclewatch_all_native_members(size_t* count);

// True for containers in C whose tp_traverse visits the items in their order (deque).
int cyclewatch_is_ordered_container(const char* type_name);

// A function's type parameters, borrowed; null where functions have none.
PyObject* cyclewatch_function_type_params(PyObject* function);

#ifdef __cplusplus
}
#endif
