// SPDX-License-Identifier: Apache-2.0
// A cycle as those who judge its references see it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "analysis/collapsed_graph.h"

namespace cyclewatch::analysis {

// How far along a cycle evidence is sought: a cycle of a million steps must not cost their square.
inline constexpr std::size_t kFarthestLook = 32;

// A cycle and what speaks for or against its references.
struct CycleView {
    const CollapsedGraph& graph;
    std::span<const std::uint32_t> edges;  // collapsed references in order

    [[nodiscard]] std::size_t size() const { return edges.size(); }
    [[nodiscard]] std::uint32_t holder(std::size_t i) const { return graph.edges[edges[i]].holder; }
    [[nodiscard]] std::uint32_t target(std::size_t i) const { return graph.targets[edges[i]]; }
    [[nodiscard]] std::size_t next(std::size_t i) const { return i + 1 == size() ? 0 : i + 1; }
    [[nodiscard]] std::size_t previous(std::size_t i) const { return i == 0 ? size() - 1 : i - 1; }
    [[nodiscard]] bool is_object(std::uint32_t node) const {
        const model::NodeKind kind = graph.node(node).kind;
        return kind == model::NodeKind::object || kind == model::NodeKind::exception;
    }
};

}  // namespace cyclewatch::analysis
