// SPDX-License-Identifier: Apache-2.0
// A view of a cycle for the code that classifies its references.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "analysis/collapsed_graph.h"
#include "analysis/names.h"

namespace cyclewatch::analysis {

// Maximum number of references visited to classify one reference. Without this limit, long cycles
// would take quadratic time.
inline constexpr std::size_t kFarthestLook = 32;

struct CycleView {
    const CollapsedGraph& graph;
    std::span<const EdgeIx> edges;  // in order

    [[nodiscard]] std::size_t size() const { return edges.size(); }
    [[nodiscard]] NodeIx holder(std::size_t i) const { return graph.edges[edges[i]].holder; }
    [[nodiscard]] NodeIx target(std::size_t i) const { return graph.targets[edges[i]]; }
    [[nodiscard]] std::size_t next(std::size_t i) const { return i + 1 == size() ? 0 : i + 1; }
    [[nodiscard]] std::size_t previous(std::size_t i) const { return i == 0 ? size() - 1 : i - 1; }
    [[nodiscard]] bool is_object(NodeIx node) const {
        const model::NodeKind kind = graph.node(node).kind;
        return kind == model::NodeKind::object || kind == model::NodeKind::exception;
    }

    // If the holder of reference `i` is a container, goes back through the nested containers and
    // returns the reference to the outermost one. Otherwise returns `i`.
    [[nodiscard]] std::size_t outside_containers(std::size_t i) const {
        for (std::size_t steps = 0; steps < kFarthestLook && is_container(graph, holder(i));
             ++steps) {
            i = previous(i);
        }
        return i;
    }

    // True if `test` is true for every reference of the cycle except `i`. Always false for cycles
    // with more than kFarthestLook references.
    template <typename Test>
    [[nodiscard]] bool all_others(std::size_t i, Test test) const {
        std::size_t k = next(i);
        while (size() <= kFarthestLook && k != i && test(k)) {
            k = next(k);
        }
        return k == i;
    }
};

}  // namespace cyclewatch::analysis
