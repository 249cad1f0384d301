// SPDX-License-Identifier: Apache-2.0
// What kind of mistake a reference on a loop looks like, and how sure that is. pattern_table.h
// holds the one table of all weights, the catalog all words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "analysis/loop_view.h"

namespace cyclewatch::analysis {

struct Evidence {
    std::string_view pattern;  // of the catalog, and Finding::pattern: "closure-captures-self"
    std::string_view variant;  // of that pattern; "" for the pattern's own words
    int weight;                // the higher, the better a reference to cut; below 0: hardly one
};

// What the loop's reference number `i` is.
[[nodiscard]] const Evidence& evidence_of(const LoopView& loop, std::size_t i);

// The weight of that evidence, less what speaks against the reference: code that is not the
// user's, an attribute that is what the object is for.
[[nodiscard]] int score_of(const LoopView& loop, std::size_t i);

// What a reference off the loop is, as the reason why it leads to memory. `of_class`: a class on
// the loop keeps it.
[[nodiscard]] const Evidence& payload_evidence_of(const LogicalGraph& graph,
                                                  std::uint32_t edge,
                                                  bool of_class);

}  // namespace cyclewatch::analysis
