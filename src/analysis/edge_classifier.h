// SPDX-License-Identifier: Apache-2.0
// Classifies references: which mistake a reference resembles, and how likely it is. The weights are
// in evidence_weights.h, the texts in advice/patterns.toml.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "analysis/cycle_view.h"

namespace cyclewatch::analysis {

struct Evidence {
    std::string_view pattern;  // id in the catalog, and Finding::pattern: "closure-captures-self"
    std::string_view variant;  // of that pattern; "" for the pattern's own texts
    int weight;                // the higher, the better a reference to cut
};

// Classifies reference `i` of the cycle.
[[nodiscard]] const Evidence& evidence_of(const CycleView& cycle, std::size_t i);

// The value to add to the weight. Negative if the reference is not created by user code, or if the
// attribute makes a module a child of another module.
[[nodiscard]] int adjustment_of(const CycleView& cycle, std::size_t i);

// Classifies a reference outside the cycle that leads to memory. `of_class`: a class is on the
// cycle.
[[nodiscard]] const Evidence& payload_evidence_of(const CollapsedGraph& graph,
                                                  std::uint32_t edge,
                                                  bool of_class);

}  // namespace cyclewatch::analysis
