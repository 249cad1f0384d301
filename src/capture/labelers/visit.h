// SPDX-License-Identifier: Apache-2.0
// Passes C++ callables to C functions that take visitors. Exceptions, such as std::bad_alloc thrown
// by a sink, must not propagate through the interpreter's C frames. An exception therefore ends the
// visit and is rethrown afterwards.
#pragma once

#include <Python.h>

#include <exception>
#include <utility>

#include "compat/frame_access.h"
#include "compat/object_layout.h"

namespace cyclewatch::capture {

template <typename Visit>
struct VisitState {
    Visit& visit;
    std::exception_ptr failure;

    template <typename... Arguments>
    int call(Arguments... arguments) noexcept {
        try {
            visit(arguments...);
            return 0;
        } catch (...) {
            failure = std::current_exception();
            return 1;
        }
    }
    void rethrow() {
        if (failure) {
            std::rethrow_exception(std::move(failure));
        }
    }
};

// Calls visit(PyObject* referent) for every reference of `object` that the tp_traverse of `type`
// visits.
template <typename Visit>
void traverse_as(PyTypeObject* type, PyObject* object, Visit&& visit) {
    const traverseproc traverse = cyclewatch_counted_traverse(type);
    if (traverse == nullptr || PyObject_IS_GC(object) == 0) {
        return;
    }
    using State = VisitState<std::remove_reference_t<Visit>>;
    State state{visit, {}};
    const auto call = [](PyObject* referent, void* arg) -> int {
        return referent == nullptr ? 0 : static_cast<State*>(arg)->call(referent);
    };
    traverse(object, call, &state);
    state.rethrow();
}

// Calls visit(PyObject* name, PyObject* value).
template <typename Visit>
void visit_attribute_values(PyObject* object, Visit&& visit) {
    using State = VisitState<std::remove_reference_t<Visit>>;
    State state{visit, {}};
    const auto call = [](PyObject* name, PyObject* value, void* arg) -> int {
        return static_cast<State*>(arg)->call(name, value);
    };
    cyclewatch_visit_attribute_values(object, call, &state);
    state.rethrow();
}

// Calls visit(const char* name, PyObject* value, Py_ssize_t offset) for each member that `type`
// declares.
template <typename Visit>
void visit_members(PyTypeObject* type, PyObject* object, Visit&& visit) {
    using State = VisitState<std::remove_reference_t<Visit>>;
    State state{visit, {}};
    const auto call = [](const char* name, PyObject* value, Py_ssize_t offset, void* arg) -> int {
        return static_cast<State*>(arg)->call(name, value, offset);
    };
    cyclewatch_visit_members(type, object, call, &state);
    state.rethrow();
}

using FrameAccess = int (*)(PyObject*, cyclewatch_frame_visitor, void*);

// Calls visit(const cyclewatch_frame_reference* reference). `access` is cyclewatch_visit_frame or
// cyclewatch_visit_generator.
template <typename Visit>
void visit_frame_references(FrameAccess access, PyObject* object, Visit&& visit) {
    using State = VisitState<std::remove_reference_t<Visit>>;
    State state{visit, {}};
    const auto call = [](const cyclewatch_frame_reference* reference, void* arg) -> int {
        return static_cast<State*>(arg)->call(reference);
    };
    access(object, call, &state);
    state.rethrow();
}

}  // namespace cyclewatch::capture
