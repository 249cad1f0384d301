// SPDX-License-Identifier: Apache-2.0
// Finds references outside the cycle whose removal frees most of the memory. The remaining cycle is
// harmless.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/cut.h"

namespace cyclewatch::analysis {

struct Payloads {
    std::vector<Candidate> single;  // each frees at least half; best first, at most two
    bool of_class = false;          // a class is on the cycle: it is created on each call
};

[[nodiscard]] Payloads find_payloads(const Component& component,
                                     const Cycle& cycle,
                                     const RetainedSize& held);

// Used if cutting a single reference does not free enough memory. Returns the references to the
// owners or to their containers. There may be several such references; for example, Python stores
// the default of a dataclass field in several places. Empty if there are more than kMostInSet, if a
// program cannot drop all of them, or if `work_left` is too small. Subtracts the work done from
// `work_left`.
[[nodiscard]] std::vector<Candidate> find_last_references(const Component& component,
                                                          const RetainedSize& held,
                                                          bool of_class,
                                                          std::uint64_t& work_left);

}  // namespace cyclewatch::analysis
