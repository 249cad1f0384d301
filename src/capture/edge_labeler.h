// SPDX-License-Identifier: Apache-2.0
// Names the references an object holds. Table: exact type, or a property of the type -> labeler.
//
// Rules (docs/design/collector.md says why): REQUIRES: GIL held. RUNS PYTHON: never. Creates no
// Python object at all. Safe on unreachable objects inside a collection.
#pragma once

#include <Python.h>

#include <cstdint>
#include <string_view>

#include "model/edge_label.h"
#include "model/reference_graph.h"

namespace cyclewatch::capture {

// Receives the references of one object, in the object's own order.
class ReferenceSink {
  public:
    virtual ~ReferenceSink() = default;
    // True if keys that are no identifiers may be shown too (capture_values).
    [[nodiscard]] virtual bool wants_values() const noexcept { return false; }
    // `target` is borrowed and never null. `name` need not outlive the call.
    virtual void add(PyObject* target,
                     model::EdgeKind kind,
                     std::string_view name,
                     std::uint32_t index) = 0;
};

// Receives the parts of one object: containers that a person does not see as objects.
class PartSink {
  public:
    virtual ~PartSink() = default;
    virtual void add(PyObject* part, model::PartRole role) = 0;
};

// Tells `sink` which of the objects that `whole` refers to are its parts, and in which role:
// its __dict__, a function's closure and defaults tuples, a partial's args and keywords, an
// nn.Module's _parameters, _buffers and _modules.
void find_parts(PyObject* whole, PartSink& sink) noexcept;

// Tells `sink` every reference of `object` that has a name. `role` and `whole` are what
// find_parts() said of it (PartRole::none and null if nothing): a closure tuple's references
// are named from the code of the function that is its `whole`. References without a name may be
// left out: the caller compares with tp_traverse and calls the rest "?".
void label_references(PyObject* object,
                      model::PartRole role,
                      PyObject* whole,
                      ReferenceSink& sink) noexcept;

}  // namespace cyclewatch::capture
