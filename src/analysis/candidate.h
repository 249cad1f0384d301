// SPDX-License-Identifier: Apache-2.0
// References of a component that one change of the code would remove, and what speaks for that.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/component.h"
#include "analysis/edge_classifier.h"
#include "analysis/shortest_cycle.h"

namespace cyclewatch::analysis {

struct Candidate {
    std::vector<std::uint32_t> edges;  // collapsed references that go together, the best first
    std::uint32_t keeper = kNone;      // leads to the list or partial that holds the first
    const Evidence* evidence = nullptr;
    int score = 0;
    std::uint64_t equivalent = 1;  // references of this kind that must all go
    bool shared_cell = false;      // `edges` go through one variable
    bool payload = false;          // off the cycle: keeps the cycle, drops the memory
    double share = 1;              // of a payload: of what the component holds, what it drops
    bool enough = true;            // no cycle through which an owner is held is left without it
};

// The references of `cycle` that a program can leave out, each as a candidate, best first. Their
// edges are positions in the component.
[[nodiscard]] std::vector<Candidate> rank_cycle(const CollapsedGraph& graph,
                                                const Component& component,
                                                const Cycle& cycle);

// Reference `e` of the component, judged on the shortest cycle that it is on; null evidence if it
// is on none that a program could leave out.
[[nodiscard]] Candidate judge_reference(const CollapsedGraph& graph,
                                        const Component& component,
                                        std::uint32_t e);

}  // namespace cyclewatch::analysis
