// SPDX-License-Identifier: Apache-2.0
// Turns selected objects into nodes and their references into named edges. The edges are exactly
// those of tp_traverse: the labelers only say what each of them is called.
//
// REQUIRES: GIL held, inside CollectionListener::on_condemned(). RUNS PYTHON: never.
#pragma once

#include <Python.h>

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "capture/edge_labeler.h"
#include "capture/raw_graph.h"
#include "collector/condemned_set.h"
#include "model/reference_graph.h"

namespace cyclewatch::capture {

inline constexpr std::uint32_t kNotNamed = UINT32_MAX;

class GraphNamer {
  public:
    // `selected`: positions in `objects`, ascending; the first `condemned` of `objects` are the
    // condemned set, the rest its dependents. All arguments must outlive the namer.
    GraphNamer(std::span<PyObject* const> objects,
               std::size_t condemned,
               const collector::PointerIndex& index,
               const Adjacency& graph,
               std::span<const std::uint32_t> selected,
               bool values);

    [[nodiscard]] model::ReferenceGraph name_all();

    // Per position: its node, or kNotNamed.
    [[nodiscard]] const std::vector<std::uint32_t>& node_of() const noexcept { return node_of_; }

  private:
    struct Parts;
    struct References;
    struct Part {
        model::PartRole role = model::PartRole::none;
        PyObject* whole = nullptr;
    };

    // The node that `object` became, or kNotNamed.
    [[nodiscard]] std::uint32_t find(PyObject* object) const noexcept;
    void add_node(std::uint32_t position);
    [[nodiscard]] model::Node describe(PyObject* object);
    void add_edges(std::uint32_t position);

    std::span<PyObject* const> objects_;
    std::size_t condemned_;
    const collector::PointerIndex& index_;
    const Adjacency& graph_;
    std::span<const std::uint32_t> selected_;
    bool values_;
    std::vector<std::uint32_t> node_of_;
    std::vector<Part> parts_;                 // per node
    std::vector<std::uint32_t> unexplained_;  // per node: references to it not yet named
    std::unordered_map<PyTypeObject*, model::Node> described_;  // types that say all there is
    model::ReferenceGraphBuilder builder_;
};

}  // namespace cyclewatch::capture
