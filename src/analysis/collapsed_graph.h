// SPDX-License-Identifier: Apache-2.0
// The reference graph as a programmer would draw it. An instance and its __dict__ are one node, and
// so are a function, its closure tuple and its cells. docs/design/analysis.md lists all rules.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "model/observation.h"

namespace cyclewatch::analysis {

using base::index_of;
using base::IndexedVector;
using base::IndexRange;
using base::IndexSet;
using base::kNone;
using base::next_index;

enum class NodeIx : std::uint32_t {};  // a node of the collapsed graph
enum class EdgeIx : std::uint32_t {};  // a reference of the collapsed graph

// A reference of the collapsed graph. Its target is in CollapsedGraph::targets.
struct CollapsedEdge {
    model::EdgeLabel label;
    NodeIx holder{};
    model::NodeId cell = kNone;    // the cell or traceback that it passes through
    std::uint32_t first_step = 0;  // see CollapsedGraph::steps_of()
    std::uint32_t step_count = 0;
    bool structural = false;  // see is_structural()
    bool is_wrapped = false;  // functools.wraps() stores the same target in `__wrapped__`
};

struct CollapsedGraph : graph::Graph<NodeIx, EdgeIx> {
    const model::ReferenceGraph* raw = nullptr;
    bool collectable = true;  // a collection can free these objects
    IndexedVector<NodeIx, model::NodeId> raw_node;
    IndexedVector<model::NodeId, NodeIx> collapsed_of;        // kNone if the node was collapsed
    IndexedVector<model::StringId, std::uint64_t> text_hash;  // see canonical_order.h
    IndexedVector<NodeIx, std::uint64_t> color;               // see canonical_order.h
    IndexedVector<EdgeIx, CollapsedEdge> edges;
    std::vector<model::EdgeId> steps;
    IndexedVector<NodeIx, std::uint32_t> references_to;  // their number

    [[nodiscard]] const model::Node& node(NodeIx n) const { return raw->node(raw_node[n]); }
    // The node that represents `owner`.
    [[nodiscard]] NodeIx node_of(const model::DeviceOwner& owner) const {
        return collapsed_of[owner.node];
    }
    // The raw references that were collapsed into `edge`, in order.
    [[nodiscard]] std::span<const model::EdgeId> steps_of(EdgeIx edge) const {
        return std::span(steps).subspan(edges[edge].first_step, edges[edge].step_count);
    }
    [[nodiscard]] std::string_view label_name(EdgeIx edge) const {
        return raw->text(edges[edge].label.name);
    }
    // True if the reference passes through a cell, that is, a variable that several functions may
    // share.
    [[nodiscard]] bool is_through_variable(EdgeIx edge) const {
        const model::NodeId cell = edges[edge].cell;
        return cell != kNone && raw->node(cell).kind == model::NodeKind::cell;
    }
    // True for a parameter, buffer or submodule of a torch.nn.Module.
    [[nodiscard]] bool is_child_of_module(EdgeIx edge) const;
    // For a variable of a frame: the entries in the dict that `frame.f_locals` has created (before
    // CPython 3.13), which outlive the variable. These are the entry of the same name and object,
    // and, for a variable that refers to its own frame, all entries that do.
    [[nodiscard]] std::vector<EdgeIx> copies_in_f_locals(EdgeIx edge) const;
    [[nodiscard]] bool is(NodeIx n, model::NodeKind kind) const { return node(n).kind == kind; }
};

// Collapses `graph`, which must outlive the result. The nodes in `keep` (owners) are not collapsed.
[[nodiscard]] CollapsedGraph collapse(const model::ReferenceGraph& graph,
                                      const IndexSet<model::NodeId>& keep);

}  // namespace cyclewatch::analysis
