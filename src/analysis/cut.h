// SPDX-License-Identifier: Apache-2.0
// Which reference, or which few, end the cycles of a component.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/candidate.h"
#include "analysis/component.h"
#include "analysis/edge_classifier.h"
#include "analysis/evidence_weights.h"
#include "analysis/retained_size.h"
#include "analysis/shortest_cycle.h"

namespace cyclewatch::analysis {

// A set of more references than this is no advice.
inline constexpr std::size_t kMostInSet = 3;

// Notes of a candidate whose first reference is `edge` of the graph whether all its references go
// through one variable.
void note_variable(Candidate& candidate, const CollapsedGraph& graph, std::uint32_t edge);

struct Cut {
    std::vector<Candidate> cut;  // one candidate, or a set of which all must go
    // If the set is what leads back to one owner: its collapsed node, and how many references.
    std::uint32_t owner = kNone;
    std::uint64_t references = 0;
    bool tie = false;  // either cut[0] or alternatives[0]
    std::vector<Candidate> alternatives;
    double freed_share = 1;  // of what the component holds, by the cut; 0: not known
    bool of_class = false;   // a class is on the cycle
    // What the finding goes by where there is no cut.
    const Evidence* without_cut = &patterns::kNoReference;
};

// `cycle` is a cycle of `component`, not empty. `work_left`: nodes and references that the search
// for the last references to the memory may look at, for all components of one observation.
[[nodiscard]] Cut choose_cut(const CollapsedGraph& graph,
                             const Component& component,
                             const Cycle& cycle,
                             const RetainedSize& held,
                             std::uint64_t& work_left);

}  // namespace cyclewatch::analysis
