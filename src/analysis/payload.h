// SPDX-License-Identifier: Apache-2.0
// References outside the cycle through which most of the memory is retained. Cutting one keeps the
// cycle, which is then harmless, and frees the memory.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/cut.h"

namespace cyclewatch::analysis {

struct Payloads {
    std::vector<Candidate> single;  // each frees at least half; best first, at most two
    bool of_class = false;          // a class is on the cycle: it is created on each call
};

[[nodiscard]] Payloads find_payloads(const CollapsedGraph& graph,
                                     const Component& component,
                                     const Cycle& cycle,
                                     const RetainedSize& held);

// Used if no single reference frees enough. Returns the references to the owners or to their
// containers. There may be several; for example, Python stores the default of a dataclass field in
// several places. Empty if there are more than kMostInSet. Subtracts one pass over everything
// reachable from the component from `work_left`.
[[nodiscard]] std::vector<Candidate> find_last_references(const CollapsedGraph& graph,
                                                          const Component& component,
                                                          const RetainedSize& held,
                                                          bool of_class,
                                                          std::uint64_t& work_left);

}  // namespace cyclewatch::analysis
