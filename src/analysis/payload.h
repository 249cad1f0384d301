// SPDX-License-Identifier: Apache-2.0
// References off the cycle through which most of the memory hangs on it: cutting one keeps the
// cycle, as harmless as any other garbage, and drops the memory.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/cut.h"

namespace cyclewatch::analysis {

struct Payloads {
    std::vector<Candidate> single;  // each frees at least half; best first, at most two
    bool of_class = false;          // a class is on the cycle: it is made on each call
};

[[nodiscard]] Payloads find_payloads(const CollapsedGraph& graph,
                                     const Component& component,
                                     const Cycle& cycle,
                                     const RetainedSize& held);

// If there is none of these: the references to the owners themselves, or to the containers that
// hold them, as where a field's default is kept in two ways. Empty if there are more than
// kMostInSet. Takes one pass over what the component leads to off `work_left`.
[[nodiscard]] std::vector<Candidate> find_last_references(const CollapsedGraph& graph,
                                                          const Component& component,
                                                          const RetainedSize& held,
                                                          bool of_class,
                                                          std::uint64_t& work_left);

// True if what a reference leads to is not what a reader thinks of as data: the data has to be
// sought further down, and so has the place where it is captured.
[[nodiscard]] bool leads_to_code(const CollapsedGraph& graph, std::uint32_t edge);

}  // namespace cyclewatch::analysis
