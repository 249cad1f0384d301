// SPDX-License-Identifier: Apache-2.0
// The labelers, one per family of objects. edge_labeler.cpp holds the table that picks among
// them; docs/design/labels.md lists what each one names.
//
// Rules: those of edge_labeler.h. All may throw what the sink throws; edge_labeler.cpp catches.
#pragma once

#include <Python.h>

#include "capture/edge_labeler.h"

namespace cyclewatch::capture {

inline void add_member(ReferenceSink& sink, PyObject* target, std::string_view name) {
    if (target != nullptr) {
        sink.add(target, model::EdgeKind::member, name, 0);
    }
}

// dict_labeler.cpp: entries of a dict and its subclasses, by the role of the dict.
void label_dict(PyObject* object, model::PartRole role, ReferenceSink& sink);
void label_plain_dict(PyObject* object, ReferenceSink& sink);

// sequence_labeler.cpp
void label_list(PyObject* object, ReferenceSink& sink);
void label_tuple(PyObject* object, ReferenceSink& sink);
void label_set(PyObject* object, ReferenceSink& sink);
// `whole` may be null; then, and for what its code does not name, items go by their index.
void label_tuple_part(PyObject* object, model::PartRole role, PyObject* whole, ReferenceSink& sink);
// Containers in C that tp_traverse visits in order (deque): items of `base`'s part of `object`.
bool is_ordered_container(const PyTypeObject* base) noexcept;
void label_ordered_container(PyTypeObject* base, PyObject* object, ReferenceSink& sink);

// instance_labeler.cpp: what any object may have: slots, attributes, __dict__, __class__.
void label_instance(PyObject* object, ReferenceSink& sink);
void find_instance_parts(PyObject* object, PartSink& sink);
// An attribute that the instance holds itself or in its existing __dict__; borrowed, or null.
PyObject* find_attribute(PyObject* object, std::string_view ascii);

// function_labeler.cpp
void label_function(PyObject* object, ReferenceSink& sink);
void label_cell(PyObject* object, ReferenceSink& sink);
void label_bound_method(PyObject* object, ReferenceSink& sink);
void label_builtin_function(PyObject* object, ReferenceSink& sink);
void find_function_parts(PyObject* function, PartSink& sink);
void find_partial_parts(PyObject* partial, PartSink& sink);

// frame_labeler.cpp
void label_frame(PyObject* object, ReferenceSink& sink);
void label_generator(PyObject* object, ReferenceSink& sink);
void label_traceback(PyObject* object, ReferenceSink& sink);

// exception_labeler.cpp
void label_exception(PyObject* object, ReferenceSink& sink);

// type_labeler.cpp
void label_type(PyObject* object, ReferenceSink& sink);
void label_weakref(PyObject* object, ReferenceSink& sink);

// member_labeler.cpp: C members: what tp_members declares, what compat/native_members.h knows of
// the builtin types' structs, and what torch_labeler.cpp knows of torch's. Only words that
// tp_traverse confirms are named, so that a wrong entry names nothing.
void label_members(PyObject* object, ReferenceSink& sink);
// An object member that `object`'s type or a base declares; borrowed, or null.
PyObject* find_member(PyObject* object, std::string_view name);

// torch_labeler.cpp: recognised by types alone; torch is never imported.
bool is_torch_module(PyTypeObject* type) noexcept;
void find_torch_module_parts(PyObject* module, PartSink& sink);
// `hooks`: a part of `module` in the role nn_hooks.
void label_torch_hooks(PyObject* hooks, PyObject* module, ReferenceSink& sink);
// Struct of C-level torch objects: the word's name, or null.
const char* torch_word_name(const char* type_name, std::size_t word) noexcept;
bool is_torch_struct(const char* type_name) noexcept;
// Autograd nodes made in C++ (MulBackward0): all they refer to are their hooks.
bool is_torch_autograd_node(const PyTypeObject* type) noexcept;

}  // namespace cyclewatch::capture
