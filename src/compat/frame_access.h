// SPDX-License-Identifier: Apache-2.0
// What frames, generators and coroutines hold, read from the interpreter's own structures.
//
// Everything here: REQUIRES: GIL held. RUNS PYTHON: never. ALLOCATES: no. Takes no reference,
// makes no frame object and no dict of locals.
#pragma once

#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

enum cyclewatch_frame_slot {
    CYCLEWATCH_SLOT_LOCAL,   // `name` is a variable: local, cell or free
    CYCLEWATCH_SLOT_STACK,   // temporary number `index` of the value stack
    CYCLEWATCH_SLOT_MEMBER,  // `member` is a C member
};

struct cyclewatch_frame_reference {
    enum cyclewatch_frame_slot slot;
    PyObject* target;    // never null
    PyObject* name;      // of LOCAL: exact str; null if the code object does not tell
    const char* member;  // of MEMBER
    int index;           // of STACK and LOCAL
};

// A result other than 0 ends the visit.
typedef int (*cyclewatch_frame_visitor)(const struct cyclewatch_frame_reference* reference,
                                        void* arg);

// The references that a frame object owns. A frame that is running, or that belongs to a
// generator, has its variables elsewhere: they are not visited.
int cyclewatch_visit_frame(PyObject* frame, cyclewatch_frame_visitor visit, void* arg);

// The references of a generator, coroutine or asynchronous generator and of the frame inside it.
// What it delegates to (yield from, await) is the member `yield_from`.
int cyclewatch_visit_generator(PyObject* generator, cyclewatch_frame_visitor visit, void* arg);

// The function that visits the references which objects of `type` own, one visit each. That is
// tp_traverse but where it shows more: a suspended generator's stack may refer to what a variable
// of it holds without owning it, and who compares visits with reference counts would take a living
// object for one that nothing else holds. Null for types without tp_traverse. Of an interpreter
// whose generators are not known it visits a generator's referents at most once each, which is too
// few where it owns one of them twice.
traverseproc cyclewatch_counted_traverse(PyTypeObject* type);

// True for the three kinds that cyclewatch_visit_generator() understands.
int cyclewatch_is_generator(PyObject* object);

// Where a frame, generator or traceback stands. `code` and `globals` are borrowed and may be null
// (a finished generator has none); `line` is 0 if not known.
struct cyclewatch_position {
    PyCodeObject* code;
    PyObject* globals;
    int line;
};

struct cyclewatch_position cyclewatch_frame_position(PyObject* frame);
struct cyclewatch_position cyclewatch_generator_position(PyObject* generator);
struct cyclewatch_position cyclewatch_traceback_position(PyObject* traceback);

#ifdef __cplusplus
}
#endif
