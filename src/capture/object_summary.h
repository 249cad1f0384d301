// SPDX-License-Identifier: Apache-2.0
// The kind, name and location of an object, and where it was allocated. REQUIRES: GIL held. RUNS
// PYTHON: never. Creates no Python objects, except as described. May throw std::bad_alloc.
#pragma once

#include <Python.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/source_path.h"
#include "model/reference_graph.h"

namespace cyclewatch::capture {

struct ObjectSummary {
    model::NodeKind kind = model::NodeKind::object;
    std::string name;    // see model::Node::name
    std::string module;  // see model::Node::module
    std::string path;    // source file, "" if unknown
    std::uint32_t line = 0;
};

[[nodiscard]] ObjectSummary summarize(PyObject* object);

// True if the summary of an object of kind `kind` depends on more than the object's type.
[[nodiscard]] bool differs_per_object(model::NodeKind kind) noexcept;

// Summarizes a function or frame with the code `code`. `module` may be "".
[[nodiscard]] ObjectSummary summarize_code_of(PyCodeObject* code, std::string module);

// Returns the "module.QualName" of a type, without looking up attributes through its metaclass.
[[nodiscard]] std::string type_name(PyTypeObject* type);

// Returns the location at which `object` was allocated, if tracemalloc is tracing.
// docs/design/labels.md describes which frame of the traceback is selected. REQUIRES: inside
// CollectionListener::on_unreachable(). If tracemalloc is tracing, creates tuples and frees them
// before it returns. The tuples do not refer to unreachable objects.
[[nodiscard]] base::CallSite allocation_site(PyObject* object);

// Like allocation_site(), but returns all frames of the traceback, innermost first.
[[nodiscard]] std::vector<base::CallSite> allocation_stack(PyObject* object);

}  // namespace cyclewatch::capture
