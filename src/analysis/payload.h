// SPDX-License-Identifier: Apache-2.0
// References off the loop through which most of the memory hangs on it: cutting one keeps the
// loop, as harmless as any other garbage, and drops the memory.
#pragma once

#include <vector>

#include "analysis/cut.h"

namespace cyclewatch::analysis {

// Each frees at least half of what the loop keeps; best first, at most two.
[[nodiscard]] std::vector<Candidate> payload_candidates(const LogicalGraph& graph,
                                                        const Component& component,
                                                        const Loop& loop,
                                                        const HeldBytes& held);

}  // namespace cyclewatch::analysis
