// SPDX-License-Identifier: Apache-2.0
// Labels the references of an object. Selects a labeler by the exact type of the object or by a
// property of the type.
//
// Everything here: REQUIRES: GIL held. RUNS PYTHON: never. Creates no Python objects. Safe to call
// on unreachable objects inside a collection (docs/design/collector.md).
#pragma once

#include <Python.h>

#include <cstdint>
#include <string_view>

#include "model/edge_label.h"
#include "model/reference_graph.h"

namespace cyclewatch::capture {

// Receives the references of one object, in the order in which the object stores them.
class ReferenceSink {
  public:
    virtual ~ReferenceSink() = default;
    // True if keys that are not identifiers may be shown (capture_values).
    [[nodiscard]] virtual bool wants_values() const noexcept { return false; }
    // `target` is borrowed and never null. `name` need not outlive the call.
    virtual void add(PyObject* target,
                     model::EdgeKind kind,
                     std::string_view name,
                     std::uint32_t index) = 0;
};

// Receives the parts of one object: containers that users do not think of as separate objects.
class PartSink {
  public:
    virtual ~PartSink() = default;
    virtual void add(PyObject* part, model::PartRole role) = 0;
};

// Passes the parts of `parent` and their roles to `sink`. Parts include the __dict__ of an object,
// the closure and defaults tuples of a function, the args and keywords of a partial, and the
// _parameters, _buffers and _modules of an nn.Module.
void find_parts(PyObject* parent, PartSink& sink) noexcept;

// Passes to `sink` every reference of `object` that has a label. If `object` is a part, `role` and
// `parent` come from find_parts(); otherwise, they are PartRole::none and null. For example, if
// `parent` is a function, its code provides the names for the references of its closure tuple.
// References without a label are omitted; the caller compares the result with the references that
// tp_traverse visits, and labels the missing ones "?".
void label_references(PyObject* object,
                      model::PartRole role,
                      PyObject* parent,
                      ReferenceSink& sink) noexcept;

}  // namespace cyclewatch::capture
