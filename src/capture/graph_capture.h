// SPDX-License-Identifier: Apache-2.0
// From the dying objects to the reference graph: plain data, every reference named. This is
// where PyObject* ends; what comes after knows ids and text only.
//
// REQUIRES: GIL held, inside CollectionListener::on_unreachable(). RUNS PYTHON: never. Creates no
// Python object but what allocation_site.h says. May throw std::bad_alloc; the caller drops that
// observation.
#pragma once

#include <Python.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "model/observation.h"
#include "model/reference_graph.h"

namespace cyclewatch::capture {

struct CaptureLimits {
    static constexpr std::uint64_t kRepeated = 5'000;
    static constexpr std::uint64_t kRegion = 5'000;

    // Objects named in one collection. A cluster is named whole or not at all, except that of
    // the first at least a region is (capture/subgraph_selection.h).
    std::uint64_t max_objects = 50'000;
    // Naming what is like something named, or far from every owner, tells little: less of both.
    [[nodiscard]] std::uint64_t max_repeated() const { return std::min(max_objects, kRepeated); }
    [[nodiscard]] std::uint64_t max_region() const { return std::min(max_objects, kRegion); }
    bool values = false;  // name dict keys that are no identifiers by their value
};

// Where one owner ended up.
struct OwnerPlace {
    enum class Kind : std::uint8_t { node, repeated, omitted };
    Kind kind = Kind::omitted;
    model::NodeId node{};      // kind node: its node
    std::uint32_t repeat = 0;  // kind repeated: index into CapturedGraph::repeats
};

struct CapturedGraph {
    model::ReferenceGraph graph;
    std::vector<OwnerPlace> owners;             // parallel to the owners handed in
    std::vector<model::RepeatedShape> repeats;  // bytes and owners still to be filled in
    std::uint64_t omitted_objects = 0;
    std::uint64_t omitted_references = 0;  // between captured objects
};

// `unreachable` and `dependents` are all the objects that die (device/owner_detector.h); `owners`
// are some of them.
[[nodiscard]] CapturedGraph capture_graph(std::span<PyObject* const> unreachable,
                                          std::span<PyObject* const> dependents,
                                          std::span<PyObject* const> owners,
                                          const CaptureLimits& limits);

}  // namespace cyclewatch::capture
