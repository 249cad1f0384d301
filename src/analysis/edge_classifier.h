// SPDX-License-Identifier: Apache-2.0
// Matches a reference against known programming mistakes, and determines how strongly the match
// suggests cutting the reference. evidence_weights.h contains the weights, advice/patterns.toml the
// message texts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "analysis/cycle_view.h"

namespace cyclewatch::analysis {

struct Evidence {
    std::string_view pattern;  // id in the catalog, and Finding::pattern: "closure-captures-self"
    std::string_view variant;  // of that pattern; "" for the pattern's own texts
    int weight;                // higher: a better reference to cut
};

// Classifies reference `i` of the cycle.
[[nodiscard]] const Evidence& evidence_of(const CycleView& cycle, std::size_t i);

// Classifies a reference that is outside the cycle and leads to memory. `of_class` is true if a
// class is on the cycle.
[[nodiscard]] const Evidence& payload_evidence_of(const CollapsedGraph& graph,
                                                  EdgeIx edge,
                                                  bool of_class);

}  // namespace cyclewatch::analysis
