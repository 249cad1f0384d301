// SPDX-License-Identifier: Apache-2.0
// Reads the attributes of an instance, the state of a weak reference and the origin of an object
// from internal structs.
//
// Everything here: REQUIRES: GIL held. RUNS PYTHON: never. ALLOCATES: only
// cyclewatch_allocation_traceback(). These functions do not create references, and never create an
// instance's __dict__. A dict created inside a collection would hold references that the collector
// has not counted, so the collector would consider unreachable objects reachable.
#pragma once

#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

// True if the interpreter's layouts failed python::check_layouts(), which sets this variable once,
// with the GIL held. object_layout.c, plain_instance.c, frame_access.c and instructions.c read it
// before each access to a struct.
extern int cyclewatch_layouts_failed;

// Receives one attribute; `name` is a str. Returns nonzero to end the visit.
typedef int (*cyclewatch_attribute_visitor)(PyObject* name, PyObject* value, void* arg);

// Receives the name, value and offset of one `__slots__` entry or C member that refers to an
// object. Returns nonzero to end the visit.
typedef int (*cyclewatch_member_visitor)(const char* name,
                                         PyObject* value,
                                         Py_ssize_t offset,
                                         void* arg);

// Visits the attributes that are stored in the instance rather than in a __dict__. Returns the
// result that ended the visit, or 0.
int cyclewatch_visit_attribute_values(PyObject* object,
                                      cyclewatch_attribute_visitor visit,
                                      void* arg);

// Returns the instance's __dict__ (borrowed) if it has been created, otherwise null.
PyObject* cyclewatch_existing_dict(PyObject* object);

// True if an instance owns the references to the values of this dict
// (CYCLEWATCH_HAS_INLINE_VALUES); the dict then owns only the references to its keys.
int cyclewatch_dict_borrows_values(PyObject* dict);

// Returns a number that is unique among all types, past and present, and changes when the type is
// modified; 0 if the type has no such number yet.
unsigned cyclewatch_type_version(PyTypeObject* type);

// True if `type` was created by a class statement or type(); its tp_members are then its
// `__slots__`.
int cyclewatch_type_has_slots(PyTypeObject* type);

// Visits the object members that `type` itself declares, but not those that its bases declare.
int cyclewatch_visit_members(PyTypeObject* type,
                             PyObject* object,
                             cyclewatch_member_visitor visit,
                             void* arg);

// True if the referent of the weak reference `weakref` is dead. On free-threaded builds, also true
// if the referent is queued to be freed by the thread that created it. REQUIRES: GIL held, other
// threads stopped (cw_with_world_stopped()).
int cyclewatch_weakref_is_dead(PyObject* weakref);

// Returns the allocation traceback of `object` as a new tuple of (file name, line) tuples, most
// recent call first. Returns None if the allocation was not traced. Returns null without an
// exception if the interpreter is unknown or out of memory. ALLOCATES: the tuples and their
// integers; nothing if tracemalloc is not tracing.
PyObject* cyclewatch_allocation_traceback(PyObject* object);

#ifdef __cplusplus
}
#endif
