// SPDX-License-Identifier: Apache-2.0
// What may be said of an object without running Python: its kind, its type's or code's name,
// and where that code stands. REQUIRES: GIL held. RUNS PYTHON: never. Creates no GC object.
#pragma once

#include <Python.h>

#include <cstdint>
#include <string>

#include "model/reference_graph.h"

namespace cyclewatch::capture {

struct ObjectSummary {
    model::NodeKind kind = model::NodeKind::object;
    std::string name;    // see model::Node::name
    std::string module;  // see model::Node::module
    std::string path;    // source file, "" if not known
    std::uint32_t line = 0;
};

// Never throws except std::bad_alloc.
[[nodiscard]] ObjectSummary summarize(PyObject* object);

// What is said of a function or frame with that code; `module` may be "".
[[nodiscard]] ObjectSummary summarize_code_of(PyCodeObject* code, std::string module);

// "module.QualName" of a type, from its own dict, never through its metaclass.
[[nodiscard]] std::string type_name(PyTypeObject* type);

}  // namespace cyclewatch::capture
