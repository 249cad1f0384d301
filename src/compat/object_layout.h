// SPDX-License-Identifier: Apache-2.0
// Where an instance keeps its attributes, read from the interpreter's own structures.
//
// Everything here: REQUIRES: GIL held. RUNS PYTHON: never. ALLOCATES: no. Takes no reference and
// never makes an instance's __dict__ come into being: a dict made inside a collection refers to
// unreachable objects that the collector has already counted, and it would take them for alive.
#pragma once

#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

// Receives one attribute; `name` is a str. A result other than 0 ends the visit.
typedef int (*cyclewatch_attribute_visitor)(PyObject* name, PyObject* value, void* arg);

// Receives one `__slots__` entry or C member that holds an object, with the offset of the word
// that holds it. A result other than 0 ends the visit.
typedef int (*cyclewatch_member_visitor)(const char* name,
                                         PyObject* value,
                                         Py_ssize_t offset,
                                         void* arg);

// Attributes that the instance itself holds, without a __dict__ between. Returns what ended the
// visit, or 0.
int cyclewatch_visit_attribute_values(PyObject* object,
                                      cyclewatch_attribute_visitor visit,
                                      void* arg);

// The instance's __dict__ where it exists already, borrowed; else null.
PyObject* cyclewatch_existing_dict(PyObject* object);

// True for a dict whose values an instance holds (see CYCLEWATCH_HAS_INLINE_VALUES): the dict
// refers to its keys only.
int cyclewatch_dict_borrows_values(PyObject* dict);

// A number that no other type has or had, and that changes with the type; 0 where it has none yet.
unsigned cyclewatch_type_version(PyTypeObject* type);

// True if `type` was made by a class statement (or type()): its members are `__slots__`.
int cyclewatch_type_has_slots(PyTypeObject* type);

// Object members that `type` itself declares, its bases' not included.
int cyclewatch_visit_members(PyTypeObject* type,
                             PyObject* object,
                             cyclewatch_member_visitor visit,
                             void* arg);

#ifdef __cplusplus
}
#endif
