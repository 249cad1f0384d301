// SPDX-License-Identifier: Apache-2.0
// Finds the parent among the objects of a component, and the back references to the parent.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/candidate.h"

namespace cyclewatch::analysis {

struct BackReferences {
    NodeIx parent = kNone;              // kNone: none was found
    std::vector<InnerCandidate> kinds;  // one per kind of reference, best first
    bool on_every_cycle = false;        // `parent` is on every cycle that retains an owner
    int score = 0;                      // comparable to Candidate::score
};

// Chooses the parent_candidates() whose back references are the best suggestion. A good suggestion
// has few attribute names, good evidence for each name, and many references to the parent. Once all
// returned references are removed, no cycle retains an owner, and every object is still reachable
// from the parent. An object that seems to have been created for one of its children is not the
// parent: only this child and the objects that it reaches keep it alive. If removing the back
// references to the parent is not enough, the kinds include back references to other parents that
// can be reached from that parent. Tries fewer candidates in a large component.
[[nodiscard]] BackReferences find_back_references(const Component& component, const Cycle& cycle);

}  // namespace cyclewatch::analysis
