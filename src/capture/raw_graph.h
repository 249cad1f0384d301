// SPDX-License-Identifier: Apache-2.0
// The unlabelled references between unreachable objects. Each object is represented by its position
// in the list of objects. Building this graph is fast enough for millions of objects. The objects
// of the reference graph are selected from this graph.
//
// REQUIRES: GIL held, inside CollectionListener::on_unreachable(). RUNS PYTHON: never.
#pragma once

#include <Python.h>

#include <cstdint>
#include <span>
#include <vector>

#include "collector/unreachable_set.h"

namespace cyclewatch::capture {

// Compressed rows. The neighbors of n are the elements of `targets` from index first[n] up to, but
// not including, first[n + 1].
struct Adjacency {
    std::vector<std::uint32_t> first{0};
    std::vector<std::uint32_t> targets;

    [[nodiscard]] std::span<const std::uint32_t> of(std::uint32_t node) const {
        return std::span(targets).subspan(first[node], first[node + 1] - first[node]);
    }
    [[nodiscard]] std::size_t nodes() const noexcept { return first.size() - 1; }
};

// Traverses each of `objects` once. The graph has one reference for each visit by tp_traverse, but
// none to objects outside the list. May throw std::bad_alloc.
[[nodiscard]] Adjacency make_raw_graph(std::span<PyObject* const> objects,
                                       const collector::PointerIndex& index,
                                       const collector::HiddenReferences* hidden = nullptr);

// A hash of the object's type; for a function, also of its code; for a class, also of its name.
// Only comparable within one process.
[[nodiscard]] std::uint32_t kind_of(PyObject* object);

// Returns the transposed graph.
[[nodiscard]] Adjacency reversed(const Adjacency& graph);

}  // namespace cyclewatch::capture
