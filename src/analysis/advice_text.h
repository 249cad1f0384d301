// SPDX-License-Identifier: Apache-2.0
// What to do about a cycle, and why, in words.
#pragma once

#include <cstddef>
#include <string>

#include "analysis/cut.h"

namespace cyclewatch::analysis {

// "cut <lambda>.closure:self (train.py:12)": the end of a finding's headline.
[[nodiscard]] std::string remedy_of(const CollapsedGraph& graph, const Cut& cut);

// Why to cut reference number `i` of this candidate, one of `cut` or an alternative to it: what its
// pattern says and, if one reference is not enough, that. Of an alternative `cut` is empty.
[[nodiscard]] std::string reason_of(const CollapsedGraph& graph,
                                    const Candidate& candidate,
                                    std::size_t i,
                                    const Cut& cut);

// What to write instead, for the reference to cut.
[[nodiscard]] std::string advice_of(const CollapsedGraph& graph, const Cut& cut);

}  // namespace cyclewatch::analysis
