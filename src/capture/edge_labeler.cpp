// SPDX-License-Identifier: Apache-2.0
#include "capture/edge_labeler.h"

#include <array>

#include "capture/labelers/labelers.h"
#include "capture/labelers/text.h"
#include "compat/frame_access.h"

namespace cyclewatch::capture {
namespace {

using model::PartRole;

using Labeler = void (*)(PyObject*, ReferenceSink&);

struct TypeLabeler {
    PyTypeObject* type;
    Labeler label;
};

// If `type` is a common type that needs only one labeler, returns that labeler; otherwise returns
// null. Types are compared exactly, so subclasses do not match.
Labeler labeler_of_exact_type(PyTypeObject* type) noexcept {
    static const std::array table{
        TypeLabeler{&PyDict_Type, label_plain_dict},
        TypeLabeler{&PyTuple_Type, label_tuple},
        TypeLabeler{&PyList_Type, label_list},
        TypeLabeler{&PyFunction_Type, label_function},
        TypeLabeler{&PyCell_Type, label_cell},
        TypeLabeler{&PyMethod_Type, label_bound_method},
        TypeLabeler{&PyCFunction_Type, label_builtin_function},
        TypeLabeler{&PyCMethod_Type, label_builtin_function},
        TypeLabeler{&PySet_Type, label_set},
        TypeLabeler{&PyFrozenSet_Type, label_set},
        TypeLabeler{&PyFrame_Type, label_frame},
        TypeLabeler{&PyGen_Type, label_generator},
        TypeLabeler{&PyCoro_Type, label_generator},
        TypeLabeler{&PyAsyncGen_Type, label_generator},
        TypeLabeler{&PyTraceBack_Type, label_traceback},
    };
    for (const TypeLabeler& entry : table) {
        if (entry.type == type) {
            return entry.label;
        }
    }
    return nullptr;
}

// If the class of `object` derives from a builtin type, labels the references that the builtin type
// stores in the object. Returns false if the object's C members need no further labels.
bool label_builtin_base(PyObject* object, ReferenceSink& sink) {
    if (PyType_Check(object)) {
        label_type(object, sink);
        return false;
    }
    if (PyTuple_Check(object)) {
        label_tuple(object, sink);  // a structseq declares its items as members, too
        return false;
    }
    if (PyWeakref_Check(object)) {
        label_weakref(object, sink);
        return false;
    }
    if (PyDict_Check(object)) {
        label_plain_dict(object, sink);
    } else if (PyList_Check(object)) {
        label_list(object, sink);
    } else if (PyAnySet_Check(object)) {
        label_set(object, sink);
    } else if (PyExceptionInstance_Check(object)) {
        label_exception(object, sink);
    } else if (PyTypeObject* base = ordered_container_base(Py_TYPE(object))) {
        label_ordered_container(base, object, sink);
    }
    return true;
}

bool label_part(PyObject* object, PartRole role, PyObject* parent, ReferenceSink& sink) {
    if (role == PartRole::nn_hooks) {
        label_torch_hooks(object, parent, sink);
        return true;
    }
    if (role != PartRole::none && PyDict_CheckExact(object)) {
        label_dict(object, role, sink);
        return true;
    }
    if (role != PartRole::none && PyTuple_CheckExact(object)) {
        label_tuple_part(object, role, parent, sink);
        return true;
    }
    return false;
}

void label(PyObject* object, PartRole role, PyObject* parent, ReferenceSink& sink) {
    if (label_part(object, role, parent, sink)) {
        return;
    }
    if (Labeler labeler = labeler_of_exact_type(Py_TYPE(object))) {
        labeler(object, sink);
        return;
    }
    label_instance(object, sink);
    if (PyDict_Check(object) && role != PartRole::none) {
        label_dict(object, role, sink);  // nn.Module's children in an OrderedDict
        return;
    }
    if (label_builtin_base(object, sink)) {
        label_members(object, sink);
    }
}

void find_all_parts(PyObject* parent, PartSink& sink) {
    PyTypeObject* type = Py_TYPE(parent);
    if (PyFunction_Check(parent)) {
        find_function_parts(parent, sink);
        return;
    }
    if (labeler_of_exact_type(type) != nullptr) {
        return;
    }
    find_instance_parts(parent, sink);
    if (base_named(type, "functools.partial") != nullptr) {
        find_partial_parts(parent, sink);
    } else if (is_torch_module(type)) {
        find_torch_module_parts(parent, sink);
    } else if (has_torch_hooks(type)) {
        find_torch_hooks(parent, sink);
    }
}

}  // namespace

// The functions below catch std::bad_alloc, the only possible exception. After an exception, the
// remaining references of the object stay unlabelled.

void find_parts(PyObject* parent, PartSink& sink) noexcept {
    try {
        find_all_parts(parent, sink);
    } catch (...) {
        return;
    }
}

void label_references(PyObject* object,
                      PartRole role,
                      PyObject* parent,
                      ReferenceSink& sink) noexcept {
    try {
        label(object, role, parent, sink);
    } catch (...) {
        return;
    }
}

}  // namespace cyclewatch::capture
