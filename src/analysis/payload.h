// SPDX-License-Identifier: Apache-2.0
// References off the loop through which most of the memory hangs on it: cutting one keeps the
// loop, as harmless as any other garbage, and drops the memory.
#pragma once

#include <vector>

#include "analysis/cut.h"

namespace cyclewatch::analysis {

struct Payloads {
    std::vector<Candidate> single;  // each frees at least half; best first, at most two
    std::vector<Candidate> set;     // where none does: the fewest, up to three, that do together
    bool of_class = false;          // a class is on the loop: it is made on each call
};

[[nodiscard]] Payloads find_payloads(const LogicalGraph& graph,
                                     const Component& component,
                                     const Loop& loop,
                                     const HeldBytes& held);

}  // namespace cyclewatch::analysis
