// SPDX-License-Identifier: Apache-2.0
// The texts of a finding: what to cut, why, and what to write instead.
#pragma once

#include <cstddef>
#include <string>

#include "analysis/cut.h"

namespace cyclewatch::analysis {

// "cut <lambda>.closure:self (train.py:12)": the end of a finding's headline.
[[nodiscard]] std::string remedy_of(const CollapsedGraph& graph, const Cut& cut);

// The text about reference `i` of a candidate. If the candidate is one of `cut`: why cutting it is
// right. If `cut` is empty, the candidate is an alternative: what cutting it costs. Either way it
// says which other references have to be cut with it.
[[nodiscard]] std::string reason_of(const CollapsedGraph& graph,
                                    const Candidate& candidate,
                                    std::size_t i,
                                    const Cut& cut);

// What to write instead of the first reference to cut.
[[nodiscard]] std::string advice_of(const CollapsedGraph& graph, const Cut& cut);

}  // namespace cyclewatch::analysis
