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

// What is known about the references of a candidate.
struct Judgment {
    EdgeIx keeper = kNone;       // reference to the container or partial that holds the first
    std::vector<EdgeIx> path{};  // references to that container from the object that owns it
    NodeIx code = kNone;  // the function to change, if it is not where the reference is stored
    const Evidence* evidence = nullptr;
    int score = 0;
    std::size_t classes = 1;       // of the holders
    std::size_t listed = 1;        // edges at the front, each with a different pair of classes
    std::uint64_t equivalent = 1;  // number of references of this kind, all to be removed
    bool shared_cell = false;      // the references go through one variable
    bool payload = false;          // not on the cycle: cutting it frees memory but keeps the cycle
    double share = 1;              // of a payload: the fraction of the retained size it frees
    bool enough = true;            // cutting it leaves no cycle that retains an owner
};

struct Candidate : Judgment {
    std::vector<EdgeIx> edges;  // to remove together, the best first
};

// A candidate inside a component, so that the cycles that remain without it can be examined.
struct InnerCandidate : Judgment {
    std::vector<InnerEdgeIx> edges;
};

[[nodiscard]] Candidate to_candidate(InnerCandidate candidate, const Component& component);

// References of the same kind are assumed to be created by one line of code. They have the same
// label, the same types at both ends and, for items, the same container. Functions of a library are
// distinguished by the functions of the program that they call.
using ReferenceKind = std::tuple<model::StringId,   // name of the holder's type; kNone: a container
                                 NodeIx,            // the container, or kNone
                                 model::EdgeKind,   // kind of the label
                                 model::StringId,   // name of the label
                                 model::StringId>;  // name of the target's type or function

[[nodiscard]] ReferenceKind kind_of(const Component& component, InnerEdgeIx e);

// Sets `equivalent` and `shared_cell` of a candidate for `references` references, depending on
// whether these go through one variable. `edge` is the first of them.
void note_variable(Judgment& judgment,
                   const CollapsedGraph& graph,
                   EdgeIx edge,
                   std::size_t references);

// Returns `candidate` with its first reference and those that must be cut with it: the references
// that go through the same variable, because one assignment clears them all, and the copies of a
// variable in `f_locals`, which would not exist without it. With `all_of_kind`, also the references
// that the same line of code creates.
[[nodiscard]] InnerCandidate widened(const Component& component,
                                     InnerCandidate candidate,
                                     bool all_of_kind);

// Removes the candidates that need not be cut, because the others break all cycles that retain
// memory. Starts with the last candidate, and stops at the limit of `work`.
void drop_needless(std::vector<InnerCandidate>& candidates,
                   const Component& component,
                   WorkLimit& work);

// One candidate for each reference of `cycle`, best first.
[[nodiscard]] std::vector<InnerCandidate> rank_cycle(const Component& component,
                                                     const Cycle& cycle);

// Classifies reference `e` of the component, based on the shortest cycle that contains `e`. The
// candidate's evidence is null if no cycle contains `e`.
[[nodiscard]] InnerCandidate judge_reference(const Component& component, InnerEdgeIx e);

}  // namespace cyclewatch::analysis
