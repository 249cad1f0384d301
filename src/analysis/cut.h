// SPDX-License-Identifier: Apache-2.0
// Which reference, or which few, end the loops of a component.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/component.h"
#include "analysis/memory_cut.h"
#include "analysis/pattern.h"
#include "analysis/pattern_table.h"
#include "analysis/shortest_loop.h"

namespace cyclewatch::analysis {

// A set of more references than this is no advice.
inline constexpr std::size_t kMostInSet = 3;

struct Candidate {
    std::vector<std::uint32_t> edges;  // logical references that go together, the best first
    std::uint32_t keeper = kNone;      // leads to the list or partial that holds the first
    const Evidence* evidence = nullptr;
    int score = 0;
    std::uint64_t alike = 1;   // references of this kind that must all go
    bool shared_cell = false;  // `edges` go through one variable
    bool one_target = false;   // `edges` are called alike and lead to one object
    bool payload = false;      // off the loop: keeps the loop, drops the memory
    double share = 1;          // of a payload: of what the component holds, what it drops
    bool enough = true;        // no loop through which an owner is held is left without it
};

// Notes of a candidate whose first reference is `edge` of the graph whether all its references go
// through one variable.
void note_variable(Candidate& candidate, const LogicalGraph& graph, std::uint32_t edge);

struct Cut {
    std::vector<Candidate> cut;  // one candidate, or a set of which all must go
    bool tie = false;            // either cut[0] or alternatives[0]
    std::vector<Candidate> alternatives;
    double freed_share = 1;  // of what the component holds, by the cut; 0: not known
    bool of_class = false;   // a class is on the loop
    // What the finding goes by where there is no cut.
    const Evidence* without_cut = &patterns::kNoReference;
};

// `loop` is a loop of `component`, not empty.
[[nodiscard]] Cut choose_cut(const LogicalGraph& graph,
                             const Component& component,
                             const Loop& loop,
                             const HeldBytes& held,
                             MemoryCutter& cutter);

}  // namespace cyclewatch::analysis
