// SPDX-License-Identifier: Apache-2.0
// A directed graph in compressed rows, borrowed: what the algorithms of this room work on.
#pragma once

#include <cstdint>
#include <span>

namespace cyclewatch::analysis {

// The targets of node n are targets[first[n] .. first[n + 1]). Both must outlive the view.
struct AdjacencyView {
    std::span<const std::uint32_t> first;
    std::span<const std::uint32_t> targets;

    [[nodiscard]] std::uint32_t nodes() const {
        return first.empty() ? 0 : static_cast<std::uint32_t>(first.size() - 1);
    }
    [[nodiscard]] std::span<const std::uint32_t> of(std::uint32_t node) const {
        return targets.subspan(first[node], first[node + 1] - first[node]);
    }
};

}  // namespace cyclewatch::analysis
