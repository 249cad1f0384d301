// SPDX-License-Identifier: Apache-2.0
// What kind of mistake a reference on a loop looks like, how sure that is, and how to say so.
// pattern_table.h holds the one table of all weights.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "analysis/logical_graph.h"

namespace cyclewatch::analysis {

struct Pattern {
    std::string_view id;      // Finding::pattern: "closure-captures-self"
    int weight;               // the higher, the better a reference to cut; below 0: hardly one
    std::string_view reason;  // {holder}, {name} and {target} are filled in
};

// A loop and what speaks for or against its references.
struct LoopView {
    const LogicalGraph& graph;
    std::span<const std::uint32_t> edges;  // logical references in order
    std::span<const std::uint64_t> kept;   // bytes that the holder of each of them leads to

    [[nodiscard]] std::size_t size() const { return edges.size(); }
    [[nodiscard]] std::uint32_t holder(std::size_t i) const { return graph.edges[edges[i]].holder; }
    [[nodiscard]] std::uint32_t target(std::size_t i) const { return graph.targets[edges[i]]; }
    [[nodiscard]] std::size_t next(std::size_t i) const { return i + 1 == size() ? 0 : i + 1; }
    [[nodiscard]] std::size_t previous(std::size_t i) const { return i == 0 ? size() - 1 : i - 1; }
};

// What the loop's reference number `i` is.
[[nodiscard]] const Pattern& pattern_of(const LoopView& loop, std::size_t i);

// The weight of that pattern, less what speaks against the reference: code that is not the
// user's, an attribute that is what the object is for.
[[nodiscard]] int score_of(const LoopView& loop, std::size_t i);

// The pattern's reason in words, for this reference.
[[nodiscard]] std::string reason_text(const LogicalGraph& graph,
                                      const Pattern& pattern,
                                      std::uint32_t edge);

// What a reference off the loop is, as the reason why it leads to memory.
[[nodiscard]] const Pattern& payload_pattern_of(const LogicalGraph& graph, std::uint32_t edge);

}  // namespace cyclewatch::analysis
