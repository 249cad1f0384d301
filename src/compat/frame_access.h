// SPDX-License-Identifier: Apache-2.0
// The references that frames, generators and coroutines own, read from internal structs.
//
// Everything here: REQUIRES: GIL held. RUNS PYTHON: never. ALLOCATES: no. Does not create
// references, frame objects or dicts of locals.
#pragma once

#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

enum cyclewatch_frame_slot {
    CYCLEWATCH_SLOT_LOCAL,   // local, cell or free variable `name`
    CYCLEWATCH_SLOT_STACK,   // value `index` of the stack
    CYCLEWATCH_SLOT_MEMBER,  // C member `member`
};

struct cyclewatch_frame_reference {
    enum cyclewatch_frame_slot slot;
    PyObject* target;    // never null
    PyObject* name;      // LOCAL: an exact str; null if unknown
    const char* member;  // MEMBER
    int index;           // STACK and LOCAL
};

// A nonzero result ends the visit.
typedef int (*cyclewatch_frame_visitor)(const struct cyclewatch_frame_reference* reference,
                                        void* arg);

// Visits the references that a frame object owns. The variables of a running frame or of a
// generator's frame are owned by the thread or generator, so they are not visited.
int cyclewatch_visit_frame(PyObject* frame, cyclewatch_frame_visitor visit, void* arg);

// Visits the references of a generator, coroutine or asynchronous generator and of its frame. The
// object that it delegates to (yield from, await) is the member `yield_from`.
int cyclewatch_visit_generator(PyObject* generator, cyclewatch_frame_visitor visit, void* arg);

// Returns a function that visits each reference owned by an object of `type` once. This is
// tp_traverse, except for generators that may borrow references: tp_traverse visits borrowed
// references too, so a comparison of visits with reference counts would consider a live object
// unreachable. If the layout of generators is unknown, each referent is visited at most once, even
// if the generator owns several references to it. Null for types without tp_traverse.
traverseproc cyclewatch_counted_traverse(PyTypeObject* type);

// The current line of a frame, generator or traceback. `code` and `globals` are borrowed and may be
// null (finished generators); `line` is 0 if unknown.
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
