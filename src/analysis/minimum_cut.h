// SPDX-License-Identifier: Apache-2.0
// The fewest arcs of a small network without which no way is left from its source to its sink.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace cyclewatch::analysis {

// Maximum flow by shortest augmenting paths (Edmonds and Karp), which is linear in the arcs for
// each unit: for cuts of a few arcs.
class FlowNetwork {
  public:
    static constexpr std::uint32_t kEndless = UINT32_MAX / 2;  // capacity of what cannot be cut

    // Returns the vertex's number: 0, 1, 2 ... in the order of the calls.
    std::uint32_t add_vertex() {
        first_.push_back(kEnd);
        return static_cast<std::uint32_t>(first_.size() - 1);
    }
    // Returns the arc's number: 0, 1, 2 ... in the order of the calls.
    std::uint32_t add(std::uint32_t from, std::uint32_t to, std::uint32_t capacity);
    // The arc is left out from now on.
    void take_out(std::uint32_t arc) { arcs_[std::size_t{arc} * 2].capacity = 0; }

    // The arcs of the smallest cut, of several the one nearest to `source`, rising; none if there
    // is no way at all, and none, with `found` false, if it takes more than `most`.
    struct MinimumCut {
        bool found = false;
        std::vector<std::uint32_t> arcs;
    };
    [[nodiscard]] MinimumCut minimum_cut(std::uint32_t source,
                                         std::uint32_t sink,
                                         std::size_t most);

    // Per vertex: true if a way leads there from `source`.
    [[nodiscard]] std::vector<bool> reached_from(std::uint32_t source) const;

  private:
    static constexpr std::uint32_t kEnd = UINT32_MAX;

    // Arcs lie in pairs, each beside what gives its flow back.
    struct Arc {
        std::uint32_t to;
        std::uint32_t next;  // of the same vertex
        std::uint32_t capacity;
        std::uint32_t flow;
    };

    void forget_flow();
    // Per vertex the arc by which it is reached where there is room left, `kEnd` if it is not.
    [[nodiscard]] std::vector<std::uint32_t> search(std::uint32_t source) const;
    [[nodiscard]] bool has_room(std::uint32_t arc) const {
        return (arc & 1) == 0 ? arcs_[arc].flow < arcs_[arc].capacity : arcs_[arc ^ 1].flow > 0;
    }

    std::vector<std::uint32_t> first_;  // per vertex
    std::vector<Arc> arcs_;
};

}  // namespace cyclewatch::analysis
