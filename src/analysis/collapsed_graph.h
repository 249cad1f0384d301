// SPDX-License-Identifier: Apache-2.0
// The reference graph as a programmer would draw it. An instance and its __dict__ are one node, and
// so are a function, its closure tuple and its cells. docs/design/analysis.md lists all rules.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "graph/adjacency.h"
#include "model/reference_graph.h"

namespace cyclewatch::analysis {

inline constexpr std::uint32_t kNone = UINT32_MAX;

// A reference of the collapsed graph. Its target is in CollapsedGraph::targets.
struct CollapsedEdge {
    model::EdgeLabel label;
    std::uint32_t holder = 0;
    std::uint32_t cell = kNone;    // raw node of the cell or traceback that it passes through
    std::uint32_t first_step = 0;  // the raw references it was collapsed from:
    std::uint32_t step_count = 0;  //   steps[first_step, first_step + step_count)
    bool structural = false;       // see is_structural()
    bool is_wrapped = false;       // functools.wraps() stores the same target in `__wrapped__`
};

struct CollapsedGraph {
    const model::ReferenceGraph* raw = nullptr;
    bool collectable = true;                  // a collection can free these objects
    std::vector<std::uint32_t> raw_node;      // per collapsed node
    std::vector<std::uint32_t> collapsed_of;  // per raw node; kNone if it was collapsed
    std::vector<std::uint64_t> color;         // per collapsed node; see canonical_order.h
    std::vector<std::uint32_t> first;
    std::vector<std::uint32_t> targets;
    std::vector<CollapsedEdge> edges;          // parallel to targets
    std::vector<std::uint32_t> steps;          // raw edges
    std::vector<std::uint32_t> references_to;  // per collapsed node: their number

    [[nodiscard]] std::uint32_t nodes() const {
        return static_cast<std::uint32_t>(raw_node.size());
    }
    [[nodiscard]] graph::AdjacencyView view() const { return {first, targets}; }
    [[nodiscard]] const model::Node& node(std::uint32_t n) const { return raw->nodes[raw_node[n]]; }
    [[nodiscard]] std::string_view label_name(std::uint32_t edge) const {
        return raw->text(edges[edge].label.name);
    }
    // True if the reference passes through a cell, that is, a variable that several functions may
    // share.
    [[nodiscard]] bool is_through_variable(std::uint32_t edge) const {
        const std::uint32_t cell = edges[edge].cell;
        return cell != kNone && raw->nodes[cell].kind == model::NodeKind::cell;
    }
    // True for a parameter, buffer or submodule of a torch.nn.Module.
    [[nodiscard]] bool is_child_of_module(std::uint32_t edge) const;
    // For a variable of a frame: the entries in the dict that `frame.f_locals` has created (before
    // CPython 3.13), which outlive the variable. These are the entry of the same name and object,
    // and, for a variable that refers to its own frame, all entries that do.
    [[nodiscard]] std::vector<std::uint32_t> copies_in_f_locals(std::uint32_t edge) const;
    [[nodiscard]] bool is(std::uint32_t n, model::NodeKind kind) const {
        return node(n).kind == kind;
    }
};

// Collapses `graph`, which must outlive the result. Raw nodes n with keep[n] != 0 (owners) are not
// collapsed.
[[nodiscard]] CollapsedGraph collapse(const model::ReferenceGraph& graph,
                                      const std::vector<char>& keep);

}  // namespace cyclewatch::analysis
