// SPDX-License-Identifier: Apache-2.0
// The labelers, one per family of types. edge_labeler.cpp selects one for each object;
// docs/design/labels.md lists the labels.
//
// The requirements in edge_labeler.h apply. Exceptions thrown by the sink propagate to
// edge_labeler.cpp, which catches them.
#pragma once

#include <Python.h>

#include "capture/edge_labeler.h"

namespace cyclewatch::capture {

inline void add_member(ReferenceSink& sink, PyObject* target, std::string_view name) {
    if (target != nullptr) {
        sink.add(target, model::EdgeKind::member, name, 0);
    }
}

// dict_labeler.cpp: entries of dicts and dict subclasses. `role` determines the labels.
void label_dict(PyObject* object, model::PartRole role, ReferenceSink& sink);
void label_plain_dict(PyObject* object, ReferenceSink& sink);

// sequence_labeler.cpp
void label_list(PyObject* object, ReferenceSink& sink);
void label_tuple(PyObject* object, ReferenceSink& sink);
void label_set(PyObject* object, ReferenceSink& sink);
// Labels the items by index if `parent` is null or if the code of `parent` does not name them.
void label_tuple_part(PyObject* object,
                      model::PartRole role,
                      PyObject* parent,
                      ReferenceSink& sink);
// Searches `type` and its bases for a C container, such as deque, whose tp_traverse visits the
// items in order. Returns null if there is none.
PyTypeObject* ordered_container_base(PyTypeObject* type) noexcept;
// Labels the items of `object`. `base` is the result of ordered_container_base().
void label_ordered_container(PyTypeObject* base, PyObject* object, ReferenceSink& sink);

// instance_labeler.cpp: slots, attributes, __dict__ and __class__ of any object.
void label_instance(PyObject* object, ReferenceSink& sink);
void label_type(PyObject* object, ReferenceSink& sink);
void label_weakref(PyObject* object, ReferenceSink& sink);
void find_instance_parts(PyObject* object, PartSink& sink);
// Returns a borrowed reference to an attribute that is stored inline in the instance or in its
// __dict__; null if there is none.
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
void label_exception(PyObject* object, ReferenceSink& sink);

// member_labeler.cpp: C members declared in tp_members and in compat/native_members.h. A member is
// named only if tp_traverse visits its referent, so a wrong entry in these tables has no effect.
void label_members(PyObject* object, ReferenceSink& sink);
// Returns a borrowed reference to the object that is stored in the C member `name`, declared by the
// type of `object` or one of its bases; null if there is none.
PyObject* find_member(PyObject* object, std::string_view name);

// torch_labeler.cpp: recognizes torch objects by their types, without importing torch.
bool is_torch_module(PyTypeObject* type) noexcept;
void find_torch_module_parts(PyObject* module, PartSink& sink);
// True for the types of tensors and autograd nodes, whose hooks are parts.
bool has_torch_hooks(PyTypeObject* type) noexcept;
void find_torch_hooks(PyObject* object, PartSink& sink);
// `hooks` is a part of `parent` with the role nn_hooks. `parent` is a torch.nn.Module, a tensor or
// an autograd node.
void label_torch_hooks(PyObject* hooks, PyObject* parent, ReferenceSink& sink);
// `hooks` is a dict, the values of which are hooks of the kind `label`.
void label_hooks(PyObject* hooks, std::string_view label, ReferenceSink& sink);
// True for C++ autograd nodes (MulBackward0), which refer only to their hooks.
bool is_torch_autograd_node(const PyTypeObject* type) noexcept;

}  // namespace cyclewatch::capture
