// SPDX-License-Identifier: Apache-2.0
// The object of a component that owns the others, and the references by which these lead back.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/candidate.h"
#include "analysis/component.h"
#include "analysis/equivalent_references.h"
#include "analysis/shortest_cycle.h"

namespace cyclewatch::analysis {

struct BackReferences {
    std::uint32_t owner = kNone;   // collapsed node that owns the others; kNone: none was found
    std::vector<Candidate> kinds;  // one of each kind, the most telling first; edges are positions
    int score = 0;                 // comparable to Candidate::score
};

// Tries objects of the component as the owner: those of `cycle`, those that references of the same
// name lead to in the end (`parent` of `parent`), and those that most others refer to. The owner is
// the one whose back references are the best advice: few names, each of them good evidence, and
// many objects that refer to it. Without these references no cycle through which an owner of
// memory is held is left, and everything is still reachable from `owner`.
// Bounded: at most 24 objects are tried, fewer in a large component.
[[nodiscard]] BackReferences find_back_references(const CollapsedGraph& graph,
                                                  const Component& component,
                                                  const Cycle& cycle,
                                                  const EquivalentReferences& equivalent);

}  // namespace cyclewatch::analysis
