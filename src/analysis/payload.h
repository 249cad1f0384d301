// SPDX-License-Identifier: Apache-2.0
// References off the loop through which most of the memory hangs on it: cutting one keeps the
// loop, as harmless as any other garbage, and drops the memory.
#pragma once

#include <vector>

#include "analysis/cut.h"
#include "analysis/memory_cut.h"

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

// Where there is none of these: the fewest references that do it only together, or one that several
// others lead to. Empty if more than kMostInSet would be needed. Costs a search of all that the
// component leads to.
[[nodiscard]] std::vector<Candidate> find_joint_payload(const LogicalGraph& graph,
                                                        const Component& component,
                                                        MemoryCutter& cutter,
                                                        bool of_class);

// True if what a reference leads to is not what a reader thinks of as data: the data has to be
// sought further down, and so has the place where it is captured.
[[nodiscard]] bool leads_to_code(const LogicalGraph& graph, std::uint32_t edge);

}  // namespace cyclewatch::analysis
