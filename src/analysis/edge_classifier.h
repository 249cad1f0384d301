// SPDX-License-Identifier: Apache-2.0
// What kind of mistake a reference on a cycle looks like, and how sure that is. evidence_weights.h
// holds the one table of all weights, the catalog all words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "analysis/cycle_view.h"

namespace cyclewatch::analysis {

struct Evidence {
    std::string_view pattern;  // of the catalog, and Finding::pattern: "closure-captures-self"
    std::string_view variant;  // of that pattern; "" for the pattern's own words
    int weight;                // the higher, the better a reference to cut; below 0: hardly one
};

// What the cycle's reference number `i` is.
[[nodiscard]] const Evidence& evidence_of(const CycleView& cycle, std::size_t i);

// The weight of that evidence, less what speaks against the reference: code that is not the
// user's, an attribute that is what the object is for.
[[nodiscard]] int score_of(const CycleView& cycle, std::size_t i);

// What a reference off the cycle is, as the reason why it leads to memory. `of_class`: a class on
// the cycle keeps it.
[[nodiscard]] const Evidence& payload_evidence_of(const CollapsedGraph& graph,
                                                  std::uint32_t edge,
                                                  bool of_class);

}  // namespace cyclewatch::analysis
