// SPDX-License-Identifier: Apache-2.0
// The bare shape of the dying objects: who refers to whom, as positions, without names. Cheap
// enough for millions of objects; decides which of them are worth naming.
//
// REQUIRES: GIL held, inside CollectionListener::on_unreachable(). RUNS PYTHON: never.
#pragma once

#include <Python.h>

#include <cstdint>
#include <span>
#include <vector>

#include "collector/unreachable_set.h"

namespace cyclewatch::capture {

// Compressed rows: the neighbours of n are targets[first[n] .. first[n + 1]).
struct Adjacency {
    std::vector<std::uint32_t> first{0};
    std::vector<std::uint32_t> targets;

    [[nodiscard]] std::span<const std::uint32_t> of(std::uint32_t node) const {
        return std::span(targets).subspan(first[node], first[node + 1] - first[node]);
    }
    [[nodiscard]] std::size_t nodes() const noexcept { return first.size() - 1; }
};

struct RawGraph {
    Adjacency references;              // by tp_traverse, one entry per reference; those that lead
                                       // out of the list are left out
    std::vector<std::uint32_t> kinds;  // per object: a hash of what it is, its type and, for
                                       // functions, their code; the same for equal objects of
                                       // one process
};

// One look at each of `objects`. May throw std::bad_alloc.
[[nodiscard]] RawGraph make_raw_graph(std::span<PyObject* const> objects,
                                      const collector::PointerIndex& index);

// The same edges the other way round.
[[nodiscard]] Adjacency reversed(const Adjacency& graph);

}  // namespace cyclewatch::capture
