// SPDX-License-Identifier: Apache-2.0
// Names struct fields that are not declared in tp_members, for C types of CPython and torch. An
// incorrect table entry can cause only a wrong name, because callers name a word only if
// tp_traverse visits the object to which the word refers.
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
    unsigned word;     // index in units of sizeof(PyObject *); 2 is the first after the object head
    const char* name;
};

// Converts cyclewatch_native_member::word to an index from the start of the object. The length of
// the object head differs between builds.
static inline size_t cyclewatch_index_of_word(size_t word) {
    return word - 2 + sizeof(PyObject) / sizeof(PyObject*);
}

// Returns the members of the type whose tp_name is `type_name`; null and *count == 0 if the type is
// not in the table.
const struct cyclewatch_native_member* cyclewatch_native_members_of(const char* type_name,
                                                                    size_t* count);

// Returns the whole table, sorted by type, then by word. For tests.
const struct cyclewatch_native_member* cyclewatch_all_native_members(size_t* count);

// True for C containers whose tp_traverse visits the items in order, such as deque.
int cyclewatch_is_ordered_container(const char* type_name);

// Returns a borrowed reference to a function's type parameters; null if there are none.
PyObject* cyclewatch_function_type_params(PyObject* function);

#ifdef __cplusplus
}
#endif
