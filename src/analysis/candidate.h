// SPDX-License-Identifier: Apache-2.0
// References that one code change would remove, with the evidence that they are a mistake.
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include "analysis/component.h"
#include "analysis/edge_classifier.h"
#include "analysis/shortest_cycle.h"

namespace cyclewatch::analysis {

struct Candidate {
    std::vector<std::uint32_t> edges;  // collapsed references to remove together, the best first
    std::uint32_t keeper = kNone;      // reference to the container or partial that holds the first
    std::vector<std::uint32_t> path{};  // references to that container from the object that owns it
    const Evidence* evidence = nullptr;
    int score = 0;
    std::size_t classes = 1;       // of the holders
    std::size_t listed = 1;        // edges at the front, each with a different pair of classes
    std::uint64_t equivalent = 1;  // number of references of this kind, all to be removed
    bool shared_cell = false;      // `edges` go through one variable
    bool payload = false;          // not on the cycle: cutting it frees memory but keeps the cycle
    double share = 1;              // of a payload: the fraction of the retained size it frees
    bool enough = true;            // cutting it leaves no cycle that retains an owner
};

// References of the same kind are assumed to be created by one line of code. They have the same
// label, the same types at both ends and, for items, the same container.
using ReferenceKind = std::tuple<bool,           // the holder is a container
                                 std::uint32_t,  // the container, or the name of the holder's type
                                 model::EdgeKind,   // kind of the label
                                 model::StringId,   // name of the label
                                 model::StringId>;  // name of the target's type

[[nodiscard]] ReferenceKind kind_of(const CollapsedGraph& graph,
                                    const Component& component,
                                    std::uint32_t e);

// Sets `equivalent` and `shared_cell`, depending on whether the edges of `candidate` go through one
// variable. `edge` is the index in `graph` of the candidate's first edge.
void note_variable(Candidate& candidate, const CollapsedGraph& graph, std::uint32_t edge);

// One candidate for each reference of `cycle`, best first. The edges are indices into
// Component::edges.
[[nodiscard]] std::vector<Candidate> rank_cycle(const CollapsedGraph& graph,
                                                const Component& component,
                                                const Cycle& cycle);

// Classifies reference `e` of the component, based on the shortest cycle that contains `e`. The
// candidate's evidence is null if no cycle contains `e`.
[[nodiscard]] Candidate judge_reference(const CollapsedGraph& graph,
                                        const Component& component,
                                        std::uint32_t e);

}  // namespace cyclewatch::analysis
