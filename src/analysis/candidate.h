// SPDX-License-Identifier: Apache-2.0
// References that one code change would remove, with the evidence for cutting them.
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
    std::size_t listed = 1;        // number of first edges; each has other classes at its ends
    std::uint64_t equivalent = 1;  // number of references of this kind, all to be removed
    bool shared_cell = false;      // `edges` go through one variable
    bool payload = false;          // outside the cycle: frees the memory, keeps the cycle
    double share = 1;              // of a payload: the fraction of the retained size it frees
    bool enough = true;            // without it, no cycle retains an owner
};

// Equal for references that the same line of code creates: they have the same label, the same types
// at both ends and, if they are items, the same container. The fields are: whether the holder is a
// container; the container's node, or else the name of the holder's type; the kind and name of the
// label; the name of the target's type.
using ReferenceKind =
    std::tuple<bool, std::uint32_t, model::EdgeKind, model::StringId, model::StringId>;

[[nodiscard]] ReferenceKind kind_of(const CollapsedGraph& graph,
                                    const Component& component,
                                    std::uint32_t e);

// Sets `equivalent` and `shared_cell` if the edges of `candidate` go through one variable.
// `edge` is the index in `graph` of the candidate's first edge.
void note_variable(Candidate& candidate, const CollapsedGraph& graph, std::uint32_t edge);

// One candidate for each reference of `cycle`, best first. The edges are indices into
// Component::edges.
[[nodiscard]] std::vector<Candidate> rank_cycle(const CollapsedGraph& graph,
                                                const Component& component,
                                                const Cycle& cycle);

// Classifies reference `e` of the component, based on the shortest cycle that contains it. The
// candidate's evidence is null if no row of evidence_weights.h matches.
[[nodiscard]] Candidate judge_reference(const CollapsedGraph& graph,
                                        const Component& component,
                                        std::uint32_t e);

}  // namespace cyclewatch::analysis
