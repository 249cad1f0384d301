// SPDX-License-Identifier: Apache-2.0
// Finds the parent among the objects of a component, and the back references to it.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/candidate.h"

namespace cyclewatch::analysis {

struct BackReferences {
    std::uint32_t parent = kNone;  // collapsed node; kNone: none was found
    // One candidate per kind of reference, best first. The edges are positions in Component::edges.
    std::vector<Candidate> kinds;
    bool on_every_cycle = false;  // `parent` is on every cycle that retains an owner
    int score = 0;                // comparable to Candidate::score
};

// The candidates for the parent are the objects of `cycle`, the end of each chain of references
// with the same name (`parent` of `parent`), and the objects with the most incoming references.
// Chooses the candidate with the best back references to suggest: few names, each with good
// evidence, and many references to the parent. Without the back references, no cycle retains an
// owner, and every object is still reachable from the parent. If cycles remain, the kinds include
// the back references to further parents inside the parent. Tries at most 28 candidates, and fewer
// in a large component.
[[nodiscard]] BackReferences find_back_references(const CollapsedGraph& graph,
                                                  const Component& component,
                                                  const Cycle& cycle);

}  // namespace cyclewatch::analysis
