// SPDX-License-Identifier: Apache-2.0
// C, not C++: some of the interpreter's internal headers use _Atomic, which is not valid C++.
#define Py_BUILD_CORE 1
#include "compat/frame_access.h"

#include <stddef.h>

#include "compat/code_names.h"
#include "compat/features.h"
#include "compat/object_layout.h"

#if CYCLEWATCH_LAYOUTS_KNOWN
#include <internal/pycore_frame.h>
#if CYCLEWATCH_FRAME_WORDS_ARE_TAGGED
#include <internal/pycore_genobject.h>
#include <internal/pycore_interpframe.h>
#endif
#include <opcode.h>
#endif

#if CYCLEWATCH_LAYOUTS_KNOWN

// The names of the C members that refer to the code and the frame. Frame objects, generators,
// coroutines and asynchronous generators use different names.
struct member_names {
    const char* code;
    const char* frame;
};

static const struct member_names kFrameNames = {"f_code", "frame"};
static const struct member_names kGeneratorNames = {"gi_code", "gi_frame"};
static const struct member_names kCoroutineNames = {"cr_code", "cr_frame"};
static const struct member_names kAsyncGeneratorNames = {"ag_code", "ag_frame"};

static const struct member_names* names_for(PyObject* generator) {
    if (PyCoro_CheckExact(generator)) {
        return &kCoroutineNames;
    }
    return PyGen_CheckExact(generator) ? &kGeneratorNames : &kAsyncGeneratorNames;
}

#if CYCLEWATCH_FRAME_WORDS_ARE_TAGGED

// Tag bits of a word. kNoObject is set if the word is not an object. kNotCounted is set if the word
// is a borrowed reference or null.
enum { kNoObject = 2, kNotCounted = 1 };

static PyObject* object_in(_PyStackRef word) {
    return (word.bits & kNoObject) != 0 ? NULL : (PyObject*)(word.bits & ~(uintptr_t)kNotCounted);
}

// Returns the object to which the word holds a strong reference, or null. Immortal objects are
// always returned, because references to them are never counted.
static PyObject* reference_in(_PyStackRef word) {
    PyObject* const object = object_in(word);
    const int counted = (word.bits & kNotCounted) == 0;
    return object != NULL && (counted || _Py_IsImmortal(object)) ? object : NULL;
}

static int words_in_use(const _PyInterpreterFrame* frame) {
    return frame->stackpointer == NULL ? 0 : (int)(frame->stackpointer - frame->localsplus);
}

#else

static PyObject* object_in(PyObject* word) {
    return word;
}

static PyObject* reference_in(PyObject* word) {
    return word;
}

static int words_in_use(const _PyInterpreterFrame* frame) {
    return frame->stacktop;
}

#endif

static PyCodeObject* code_of(const _PyInterpreterFrame* frame) {
#if CYCLEWATCH_HAS_DELEGATION_STATE
    PyObject* code = object_in(frame->f_executable);
#else
    PyObject* code = (PyObject*)frame->f_code;
#endif
    return code != NULL && PyCode_Check(code) ? (PyCodeObject*)code : NULL;
}

static PyObject* function_of(const _PyInterpreterFrame* frame) {
#if CYCLEWATCH_FRAME_FUNCTION_IS_TYPED
    return (PyObject*)frame->f_func;
#else
    return object_in(frame->f_funcobj);
#endif
}

static int line_of(_PyInterpreterFrame* frame) {
    PyCodeObject* code = code_of(frame);
    if (code == NULL) {
        return 0;
    }
    const int offset = _PyInterpreterFrame_LASTI(frame) * (int)sizeof(_Py_CODEUNIT);
    return cyclewatch_line_at(code, offset);
}

struct member {
    PyObject* target;
    const char* name;  // null after the last member
};

static int visit_members(const struct member* members, cyclewatch_frame_visitor visit, void* arg) {
    int result = 0;
    for (; members->name != NULL && result == 0; ++members) {
        const struct cyclewatch_frame_reference reference = {
            .slot = CYCLEWATCH_SLOT_MEMBER, .target = members->target, .member = members->name};
        result = members->target != NULL ? visit(&reference, arg) : 0;
    }
    return result;
}

// Visits the variables first, then the temporaries above them. `delegate` is the index of the
// object to which a generator delegates; -1 if it does not delegate.
static int visit_slots(_PyInterpreterFrame* frame,
                       PyCodeObject* code,
                       int delegate,
                       cyclewatch_frame_visitor visit,
                       void* arg) {
    const int variables = code->co_nlocalsplus;
    int top = words_in_use(frame);
    if (top > variables + code->co_stacksize) {
        top = variables + code->co_stacksize;
    }
    for (int i = 0; i < top; ++i) {
        PyObject* target = reference_in(frame->localsplus[i]);
        if (target == NULL) {
            continue;
        }
        struct cyclewatch_frame_reference reference = {.target = target};
        if (i < variables) {
            reference.slot = CYCLEWATCH_SLOT_LOCAL;
            reference.name = cyclewatch_variable_name(code, i);
            reference.index = i;
        } else if (i == delegate) {
            reference.slot = CYCLEWATCH_SLOT_MEMBER;
            reference.member = "yield_from";
        } else {
            reference.slot = CYCLEWATCH_SLOT_STACK;
            reference.index = i - variables;
        }
        const int result = visit(&reference, arg);
        if (result != 0) {
            return result;
        }
    }
    return 0;
}

static int visit_interpreter_frame(_PyInterpreterFrame* frame,
                                   const struct member_names* names,
                                   int delegate,
                                   cyclewatch_frame_visitor visit,
                                   void* arg) {
    PyCodeObject* code = code_of(frame);
    const struct member members[] = {
        {(PyObject*)frame->frame_obj, names->frame},
        {frame->f_locals, "f_locals"},
        {function_of(frame), "f_func"},
        {(PyObject*)code, names->code},
        {NULL, NULL},
    };
    const int result = visit_members(members, visit, arg);
    return result == 0 && code != NULL ? visit_slots(frame, code, delegate, visit, arg) : result;
}

int cyclewatch_visit_frame(PyObject* object, cyclewatch_frame_visitor visit, void* arg) {
    if (cyclewatch_layouts_failed) {
        return 0;
    }
    PyFrameObject* frame = (PyFrameObject*)object;
    const struct member members[] = {
        {(PyObject*)frame->f_back, "f_back"},
        {frame->f_trace, "f_trace"},
#if CYCLEWATCH_FRAME_HAS_EXTRA_LOCALS
        {frame->f_extra_locals, "f_extra_locals"},
        {frame->f_locals_cache, "f_locals_cache"},
#endif
#if CYCLEWATCH_FRAME_HAS_OVERWRITTEN_LOCALS
        {frame->f_overwritten_fast_locals, "f_overwritten_fast_locals"},
#endif
        {NULL, NULL},
    };
    const int result = visit_members(members, visit, arg);
    if (result != 0 || frame->f_frame == NULL ||
        frame->f_frame->owner != FRAME_OWNED_BY_FRAME_OBJECT) {
        return result;
    }
    return visit_interpreter_frame(frame->f_frame, &kFrameNames, -1, visit, arg);
}

static _PyInterpreterFrame* frame_inside(PyGenObject* generator) {
#if CYCLEWATCH_FRAME_WORDS_ARE_TAGGED
    _PyInterpreterFrame* const frame = &generator->gi_iframe;
#else
    _PyInterpreterFrame* const frame = (_PyInterpreterFrame*)generator->gi_iframe;
#endif
    return generator->gi_frame_state < FRAME_CLEARED ? frame : NULL;
}

#if CYCLEWATCH_HAS_DELEGATION_STATE

static int delegates(const PyGenObject* generator, const _PyInterpreterFrame* frame) {
    (void)frame;
    return generator->gi_frame_state == FRAME_SUSPENDED_YIELD_FROM;
}

#else

static int is_resume(int opcode) {
#ifdef RESUME_QUICK
    if (opcode == RESUME_QUICK) {
        return 1;
    }
#endif
#if CYCLEWATCH_HAS_INSTRUMENTED_OPCODES
    if (opcode == INSTRUMENTED_RESUME) {
        return 1;
    }
#endif
    return opcode == RESUME;
}

// The instruction after a suspended `yield from` or `await` is RESUME with the argument 2 or 3.
static int delegates(const PyGenObject* generator, const _PyInterpreterFrame* frame) {
    if (generator->gi_frame_state != FRAME_SUSPENDED) {
        return 0;
    }
    const _Py_CODEUNIT next = frame->prev_instr[1];
#if CYCLEWATCH_HAS_INSTRUMENTED_OPCODES
    return is_resume(next.op.code) && next.op.arg >= 2;
#else
    return is_resume(_Py_OPCODE(next)) && _Py_OPARG(next) >= 2;
#endif
}

#endif

// The index of the topmost object; -1 if there is none. On the stack, a small integer may be above
// the object that the generator delegates to.
static int topmost_object(const _PyInterpreterFrame* frame) {
    int word = words_in_use(frame) - 1;
    while (word >= 0 && object_in(frame->localsplus[word]) == NULL) {
        --word;
    }
    return word;
}

int cyclewatch_visit_generator(PyObject* object, cyclewatch_frame_visitor visit, void* arg) {
    if (cyclewatch_layouts_failed) {
        return 0;
    }
    PyGenObject* generator = (PyGenObject*)object;
    const struct member_names* names = names_for(object);
    _PyInterpreterFrame* frame = frame_inside(generator);
    PyObject* code = NULL;
#if CYCLEWATCH_GENERATOR_HAS_CODE
    code = (PyObject*)generator->gi_code;
#elif CYCLEWATCH_FRAME_WORDS_ARE_TAGGED
    if (frame == NULL) {  // finished, but keeps its code until it is freed
        code = object_in(generator->gi_iframe.f_executable);
    }
#endif
    // Plain generators leave gi_origin_or_finalizer uninitialized.
    PyObject* const origin = PyGen_CheckExact(object) ? NULL : generator->gi_origin_or_finalizer;
    const struct member members[] = {
        {code, names->code},
        {generator->gi_name, "__name__"},
        {generator->gi_qualname, "__qualname__"},
        {generator->gi_exc_state.exc_value, "exc_value"},
        {origin, PyCoro_CheckExact(object) ? "cr_origin" : "finalizer"},
        {NULL, NULL},
    };
    const int result = visit_members(members, visit, arg);
    if (result != 0 || frame == NULL) {
        return result;
    }
    const int delegate = delegates(generator, frame) ? topmost_object(frame) : -1;
    return visit_interpreter_frame(frame, names, delegate, visit, arg);
}

struct cyclewatch_position cyclewatch_frame_position(PyObject* object) {
    struct cyclewatch_position position = {NULL, NULL, 0};
    PyFrameObject* frame = (PyFrameObject*)object;
    if (cyclewatch_layouts_failed || frame->f_frame == NULL) {
        return position;
    }
    position.code = code_of(frame->f_frame);
    position.globals = frame->f_frame->f_globals;
    position.line = frame->f_lineno > 0 ? frame->f_lineno : line_of(frame->f_frame);
    return position;
}

struct cyclewatch_position cyclewatch_generator_position(PyObject* object) {
    struct cyclewatch_position position = {NULL, NULL, 0};
    if (cyclewatch_layouts_failed) {
        return position;
    }
    PyGenObject* generator = (PyGenObject*)object;
    _PyInterpreterFrame* frame = frame_inside(generator);
    if (frame != NULL) {
        position.code = code_of(frame);
        position.globals = frame->f_globals;
        position.line = line_of(frame);
    }
#if CYCLEWATCH_GENERATOR_HAS_CODE
    if (position.code == NULL) {
        position.code = generator->gi_code;
    }
#endif
    return position;
}

struct thread_visit {
    cyclewatch_thread_visitor visit;
    void* arg;
    struct cyclewatch_thread_reference reference;
};

static void visit_thread_slot(struct thread_visit* state,
                              enum cyclewatch_thread_slot slot,
                              PyObject* target) {
    if (target != NULL) {
        state->reference.slot = slot;
        state->reference.target = target;
        state->visit(&state->reference, state->arg);
    }
}

// The number of values on the stack is unknown in a frame that is executing or that called C code.
static void visit_running_slots(struct thread_visit* state,
                                const _PyInterpreterFrame* frame,
                                PyCodeObject* code) {
    const int variables = code->co_nlocalsplus;
    for (int i = 0; i < variables; ++i) {
        state->reference.name = cyclewatch_variable_name(code, i);
        state->reference.index = i;
        visit_thread_slot(state, CYCLEWATCH_THREAD_LOCAL, object_in(frame->localsplus[i]));
    }
    state->reference.name = NULL;
    const int used = words_in_use(frame);
    const int room = variables + code->co_stacksize;
    state->reference.is_stale = used < variables || used > room;
    const int top = state->reference.is_stale ? room : used;
    for (int i = variables; i < top; ++i) {
        visit_thread_slot(state, CYCLEWATCH_THREAD_TEMPORARY, object_in(frame->localsplus[i]));
    }
    state->reference.is_stale = 0;
}

static int may_be_called_from_c(const _PyInterpreterFrame* frame) {
#if CYCLEWATCH_FRAME_KNOWS_ENTRY
    return frame->is_entry;
#else
    return frame->previous == NULL || frame->previous->owner > FRAME_OWNED_BY_FRAME_OBJECT;
#endif
}

static void visit_running_frames(struct thread_visit* state, const PyThreadState* thread) {
#if CYCLEWATCH_THREAD_HAS_CFRAME
    _PyInterpreterFrame* frame = thread->cframe == NULL ? NULL : thread->cframe->current_frame;
#else
    _PyInterpreterFrame* frame = thread->current_frame;
#endif
    for (; frame != NULL; frame = frame->previous) {
        PyCodeObject* const code = code_of(frame);
        // Frames that only connect C code to the interpreter have no variables.
        if (code == NULL || frame->owner > FRAME_OWNED_BY_FRAME_OBJECT) {
            continue;
        }
        state->reference.code = code;
        state->reference.globals = frame->f_globals;
        state->reference.line = line_of(frame);
        state->reference.instruction = _PyInterpreterFrame_LASTI(frame);
        state->reference.called_from_c = may_be_called_from_c(frame);
        visit_running_slots(state, frame, code);
        visit_thread_slot(state, CYCLEWATCH_THREAD_NAMESPACE, frame->f_locals);
        visit_thread_slot(state, CYCLEWATCH_THREAD_NAMESPACE, frame->f_globals);
        visit_thread_slot(state, CYCLEWATCH_THREAD_FUNCTION, function_of(frame));
        visit_thread_slot(state, CYCLEWATCH_THREAD_FUNCTION, (PyObject*)frame->frame_obj);
        ++state->reference.depth;
    }
    state->reference.code = NULL;
    state->reference.globals = NULL;
    state->reference.line = 0;
    state->reference.instruction = 0;
    state->reference.depth = 0;
    state->reference.called_from_c = 0;
}

#else

int cyclewatch_visit_frame(PyObject* frame, cyclewatch_frame_visitor visit, void* arg) {
    (void)frame, (void)visit, (void)arg;
    return 0;
}

int cyclewatch_visit_generator(PyObject* generator, cyclewatch_frame_visitor visit, void* arg) {
    (void)generator, (void)visit, (void)arg;
    return 0;
}

struct cyclewatch_position cyclewatch_frame_position(PyObject* frame) {
    (void)frame;
    return (struct cyclewatch_position){NULL, NULL, 0};
}

struct cyclewatch_position cyclewatch_generator_position(PyObject* generator) {
    (void)generator;
    return (struct cyclewatch_position){NULL, NULL, 0};
}

#endif

#if CYCLEWATCH_LAYOUTS_KNOWN

void cyclewatch_visit_threads(cyclewatch_thread_visitor visit, void* arg) {
    struct thread_visit state = {.visit = visit, .arg = arg};
    PyThreadState* thread = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    for (; thread != NULL; thread = PyThreadState_Next(thread)) {
        state.reference.thread = thread;
        if (!cyclewatch_layouts_failed) {
            visit_running_frames(&state, thread);
        }
        const _PyErr_StackItem* handled = thread->exc_info;
        for (; handled != NULL; handled = handled->previous_item) {
            visit_thread_slot(&state, CYCLEWATCH_THREAD_EXCEPTION, handled->exc_value);
        }
#if CYCLEWATCH_THREAD_HAS_EXCEPTION_TRIPLE
        visit_thread_slot(&state, CYCLEWATCH_THREAD_EXCEPTION, thread->curexc_value);
        visit_thread_slot(&state, CYCLEWATCH_THREAD_EXCEPTION, thread->curexc_traceback);
#else
        visit_thread_slot(&state, CYCLEWATCH_THREAD_EXCEPTION, thread->current_exception);
#endif
        visit_thread_slot(&state, CYCLEWATCH_THREAD_CONTEXT, thread->context);
        visit_thread_slot(&state, CYCLEWATCH_THREAD_STATE_DICT, thread->dict);
        visit_thread_slot(&state, CYCLEWATCH_THREAD_HOOK, thread->c_profileobj);
        visit_thread_slot(&state, CYCLEWATCH_THREAD_HOOK, thread->c_traceobj);
    }
}

#else

void cyclewatch_visit_threads(cyclewatch_thread_visitor visit, void* arg) {
    (void)visit, (void)arg;
}

#endif

// The referents visited so far, for generators whose layout is unknown.
struct distinct {
    visitproc visit;
    void* arg;
    int count;
    PyObject* seen[64];  // further referents are not visited
};

static int visit_first_time(PyObject* target, void* arg) {
    struct distinct* const distinct = arg;
    for (int i = 0; i < distinct->count; ++i) {
        if (distinct->seen[i] == target) {
            return 0;
        }
    }
    if (distinct->count == (int)(sizeof(distinct->seen) / sizeof(distinct->seen[0]))) {
        return 0;
    }
    distinct->seen[distinct->count++] = target;
    return distinct->visit(target, distinct->arg);
}

static int traverse_distinct(PyObject* generator, visitproc visit, void* arg) {
    struct distinct distinct = {.visit = visit, .arg = arg, .count = 0};
    return Py_TYPE(generator)->tp_traverse(generator, visit_first_time, &distinct);
}

#if CYCLEWATCH_LAYOUTS_KNOWN && CYCLEWATCH_FRAME_WORDS_ARE_TAGGED

struct counted {
    visitproc visit;
    void* arg;
};

static int visit_target(const struct cyclewatch_frame_reference* reference, void* arg) {
    const struct counted* const counted = arg;
    return counted->visit(reference->target, counted->arg);
}

static int traverse_owned(PyObject* generator, visitproc visit, void* arg) {
    if (cyclewatch_layouts_failed) {
        return traverse_distinct(generator, visit, arg);
    }
    struct counted counted = {.visit = visit, .arg = arg};
    return cyclewatch_visit_generator(generator, visit_target, &counted);
}

#else

static int traverse_owned(PyObject* generator, visitproc visit, void* arg) {
    return traverse_distinct(generator, visit, arg);
}

#endif

traverseproc cyclewatch_counted_traverse(PyTypeObject* type) {
    const int may_borrow =
        CYCLEWATCH_GENERATORS_MAY_BORROW &&
        (type == &PyGen_Type || type == &PyCoro_Type || type == &PyAsyncGen_Type);
    return may_borrow ? traverse_owned : type->tp_traverse;
}

#if CYCLEWATCH_LAYOUTS_KNOWN && !CYCLEWATCH_FRAME_WORDS_ARE_TAGGED

// `frame_obj` is omitted, because it is null if the frame object owns the inner frame.
static const struct cyclewatch_frame_words kFrameWords = {
    .words = {offsetof(PyFrameObject, f_back),
              offsetof(PyFrameObject, f_trace),
#if CYCLEWATCH_FRAME_HAS_EXTRA_LOCALS
              offsetof(PyFrameObject, f_extra_locals),
              offsetof(PyFrameObject, f_locals_cache),
#endif
              CYCLEWATCH_NO_WORD},
    .inner = offsetof(PyFrameObject, f_frame),
    .owner = offsetof(_PyInterpreterFrame, owner),
    .owned = FRAME_OWNED_BY_FRAME_OBJECT,
    .inner_words = {offsetof(_PyInterpreterFrame, f_locals),
#if CYCLEWATCH_FRAME_FUNCTION_IS_TYPED
                    offsetof(_PyInterpreterFrame, f_func),
#else
                    offsetof(_PyInterpreterFrame, f_funcobj),
#endif
#if CYCLEWATCH_HAS_DELEGATION_STATE
                    offsetof(_PyInterpreterFrame, f_executable),
#else
                    offsetof(_PyInterpreterFrame, f_code),
#endif
                    CYCLEWATCH_NO_WORD},
    .count = offsetof(_PyInterpreterFrame, stacktop),
    .locals = offsetof(_PyInterpreterFrame, localsplus),
};

const struct cyclewatch_frame_words* cyclewatch_words_of_frames(void) {
    return cyclewatch_layouts_failed ? NULL : &kFrameWords;
}

#else

const struct cyclewatch_frame_words* cyclewatch_words_of_frames(void) {
    return NULL;
}

#endif

struct cyclewatch_position cyclewatch_traceback_position(PyObject* object) {
    const PyTracebackObject* traceback = (PyTracebackObject*)object;
    struct cyclewatch_position position = {NULL, NULL, 0};
    if (traceback->tb_frame != NULL) {
        position = cyclewatch_frame_position((PyObject*)traceback->tb_frame);
    }
    if (traceback->tb_lineno > 0) {
        position.line = traceback->tb_lineno;
    } else if (position.code != NULL) {
        position.line = cyclewatch_line_at(position.code, traceback->tb_lasti);
    }
    return position;
}
