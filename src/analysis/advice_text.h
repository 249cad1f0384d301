// SPDX-License-Identifier: Apache-2.0
// Writes the message texts of a finding: what to cut, why, and what code to write instead.
#pragma once

#include <cstddef>
#include <string>

#include "analysis/cut.h"

namespace cyclewatch::analysis {

// Returns the end of a finding's headline, such as "cut <lambda>.closure:self (train.py:12)".
[[nodiscard]] std::string remedy_of(const CollapsedGraph& graph, const Cut& cut);

// The text about reference `i` of `candidate`. If `candidate` is part of `cut`, the text explains
// why the reference should be cut. If `cut` is empty, `candidate` is an alternative, and the text
// states the cost of cutting the reference. In both cases the text states whether other references
// must be cut as well.
[[nodiscard]] std::string reason_of(const CollapsedGraph& graph,
                                    const Candidate& candidate,
                                    std::size_t i,
                                    const Cut& cut);

// Describes how to change the code that creates the first reference to cut.
[[nodiscard]] std::string advice_of(const CollapsedGraph& graph, const Cut& cut);

// The cost of the change that advice_of() suggests, as a clause; "" if there is no cut.
[[nodiscard]] std::string cost_of(const CollapsedGraph& graph, const Cut& cut);

}  // namespace cyclewatch::analysis
