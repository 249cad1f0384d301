// SPDX-License-Identifier: Apache-2.0
// Visits the references owned by frames, generators and coroutines by reading the interpreter's
// internal structs.
//
// Everything here: REQUIRES: GIL held. RUNS PYTHON: never. ALLOCATES: no. These functions do not
// create references, frame objects or dicts of locals.
#pragma once

#include <Python.h>

#include <stdint.h>

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

// Returns nonzero to end the visit.
typedef int (*cyclewatch_frame_visitor)(const struct cyclewatch_frame_reference* reference,
                                        void* arg);

// Visits the references that a frame object owns. The variables of a running frame, or of a
// generator's frame, are not visited, because the thread or the generator owns them.
int cyclewatch_visit_frame(PyObject* frame, cyclewatch_frame_visitor visit, void* arg);

// Visits the references owned by a generator, coroutine or asynchronous generator, and by its
// frame. The object to which a generator delegates (yield from, await) is visited as the member
// `yield_from`.
int cyclewatch_visit_generator(PyObject* generator, cyclewatch_frame_visitor visit, void* arg);

// Returns a function that visits each reference owned by an object of `type` exactly once. The
// function is tp_traverse, except for generators that may borrow references. The tp_traverse of
// such a generator visits borrowed references too. A live object could then be visited more often
// than its reference count allows, and appear to be unreachable. If the layout of generators is
// unknown, each referent is visited at most once, even if the generator owns several references to
// it. Returns null for types without tp_traverse.
traverseproc cyclewatch_counted_traverse(PyTypeObject* type);

// The byte offsets at which a frame object stores the references that tp_traverse visits. The inner
// frame is the struct that the interpreter executes.
enum { CYCLEWATCH_NO_WORD = UINT16_MAX };

struct cyclewatch_frame_words {
    uint16_t words[5];  // of the frame object; CYCLEWATCH_NO_WORD after the last one
    uint16_t inner;     // of the pointer to the inner frame
    uint16_t owner;     // in the inner frame, like all offsets below: a char
    char owned;         // value of `owner` if the frame object owns the inner frame's references
    uint16_t inner_words[4];  // CYCLEWATCH_NO_WORD after the last one
    uint16_t count;           // of an int: the number of words in use, starting at `locals`
    uint16_t locals;
};

// Returns null if the layout is unknown; call tp_traverse in that case.
const struct cyclewatch_frame_words* cyclewatch_words_of_frames(void);

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

// The kind of reference held by a thread's state or by one of the thread's running frames.
enum cyclewatch_thread_slot {
    CYCLEWATCH_THREAD_LOCAL,       // variable `name` of a running frame
    CYCLEWATCH_THREAD_NAMESPACE,   // the dict of local or global variables of a running frame
    CYCLEWATCH_THREAD_FUNCTION,    // the function or frame object of a running frame
    CYCLEWATCH_THREAD_TEMPORARY,   // a value on the stack of a running frame
    CYCLEWATCH_THREAD_EXCEPTION,   // an exception that is being handled or raised
    CYCLEWATCH_THREAD_CONTEXT,     // the current context (contextvars)
    CYCLEWATCH_THREAD_STATE_DICT,  // PyThreadState_GetDict(), which contains thread locals
    CYCLEWATCH_THREAD_HOOK,        // sys.settrace(), sys.setprofile()
};

struct cyclewatch_thread_reference {
    enum cyclewatch_thread_slot slot;
    // Never null. If `is_stale` is true, the target is a temporary that may already have been
    // freed, so its address may only be compared with the addresses of live objects.
    PyObject* target;
    int is_stale;
    PyObject* name;  // LOCAL: an exact str; null if unknown
    int index;       // LOCAL: of the variable (code_names.h)
    const PyThreadState* thread;
    // The frame that holds the reference; null and 0 if the reference is held by the thread's
    // state.
    PyCodeObject* code;
    PyObject* globals;
    int line;                // 0: unknown
    Py_ssize_t instruction;  // the index of the instruction that is being executed
    int depth;               // 0: the innermost frame of the thread
    // True if C code may have called the frame's function. The calling C code may own a tuple of
    // the arguments.
    int called_from_c;
};

typedef void (*cyclewatch_thread_visitor)(const struct cyclewatch_thread_reference* reference,
                                          void* arg);

// Visits the references of all threads of the interpreter and of their running frames, innermost
// first. Running generators are included; suspended generators are not, because they own their
// references. If the layout of frames is unknown, visits no frames.
void cyclewatch_visit_threads(cyclewatch_thread_visitor visit, void* arg);

#ifdef __cplusplus
}
#endif
