// SPDX-License-Identifier: Apache-2.0
#include "capture/labelers/labelers.h"
#include "compat/native_members.h"

namespace cyclewatch::capture {
namespace {

using model::PartRole;

void add_tuple(PartSink& sink, PyObject* part, PartRole role) {
    if (part != nullptr && PyTuple_CheckExact(part)) {
        sink.add(part, role);
    }
}

void add_dict(PartSink& sink, PyObject* part, PartRole role) {
    if (part != nullptr && PyDict_Check(part)) {
        sink.add(part, role);
    }
}

}  // namespace

void label_function(PyObject* object, ReferenceSink& sink) {
    const auto* function = reinterpret_cast<PyFunctionObject*>(object);
    add_member(sink, function->func_code, "__code__");
    add_member(sink, function->func_globals, "__globals__");
    add_member(sink, function->func_module, "__module__");
    add_member(sink, function->func_defaults, "__defaults__");
    add_member(sink, function->func_kwdefaults, "__kwdefaults__");
    add_member(sink, function->func_doc, "__doc__");
    add_member(sink, function->func_name, "__name__");
    add_member(sink, function->func_dict, "__dict__");
    add_member(sink, function->func_closure, "__closure__");
    add_member(sink, function->func_annotations, "__annotations__");
    add_member(sink, function->func_builtins, "__builtins__");
    add_member(sink, function->func_qualname, "__qualname__");
    add_member(sink, cyclewatch_function_type_params(object), "__type_params__");
}

void label_cell(PyObject* object, ReferenceSink& sink) {
    add_member(sink, PyCell_GET(object), "cell_contents");
}

void label_bound_method(PyObject* object, ReferenceSink& sink) {
    add_member(sink, PyMethod_GET_FUNCTION(object), "__func__");
    add_member(sink, PyMethod_GET_SELF(object), "__self__");
}

void label_builtin_function(PyObject* object, ReferenceSink& sink) {
    const auto* function = reinterpret_cast<PyCFunctionObject*>(object);
    add_member(sink, function->m_self, "__self__");
    add_member(sink, function->m_module, "__module__");
    add_member(sink, reinterpret_cast<PyObject*>(PyCFunction_GET_CLASS(object)), "__objclass__");
}

void find_function_parts(PyObject* object, PartSink& sink) {
    const auto* function = reinterpret_cast<PyFunctionObject*>(object);
    add_tuple(sink, function->func_closure, PartRole::closure);
    add_tuple(sink, function->func_defaults, PartRole::defaults);
    add_dict(sink, function->func_kwdefaults, PartRole::keyword_defaults);
    add_dict(sink, function->func_dict, PartRole::instance_dict);
}

void find_partial_parts(PyObject* object, PartSink& sink) {
    add_tuple(sink, find_member(object, "args"), PartRole::partial_args);
    add_dict(sink, find_member(object, "keywords"), PartRole::partial_keywords);
}

}  // namespace cyclewatch::capture
