// SPDX-License-Identifier: Apache-2.0
// The texts of a finding: the reference to cut, the reason, and what to write instead.
#pragma once

#include <cstddef>
#include <string>

#include "analysis/cut.h"

namespace cyclewatch::analysis {

// "cut <lambda>.closure:self (train.py:12)": the end of a finding's headline.
[[nodiscard]] std::string remedy_of(const CollapsedGraph& graph, const Cut& cut);

// The text about reference `i` of a candidate. If the candidate is one of `cut`, the text explains
// why to cut it. If `cut` is empty, the candidate is an alternative, and the text states the cost
// of cutting it. In both cases the text lists the other references that must be cut with it.
[[nodiscard]] std::string reason_of(const CollapsedGraph& graph,
                                    const Candidate& candidate,
                                    std::size_t i,
                                    const Cut& cut);

// Describes what to write instead of the first reference to cut.
[[nodiscard]] std::string advice_of(const CollapsedGraph& graph, const Cut& cut);

// The cost of following the advice of advice_of(): a clause; "" if there is no cut.
[[nodiscard]] std::string cost_of(const CollapsedGraph& graph, const Cut& cut);

}  // namespace cyclewatch::analysis
