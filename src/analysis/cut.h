// SPDX-License-Identifier: Apache-2.0
// Chooses the reference, or the few references, that break the cycles of a component.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/candidate.h"
#include "analysis/evidence_weights.h"

namespace cyclewatch::analysis {

// Maximum number of references outside the cycle that are suggested as a set.
inline constexpr std::size_t kMostInSet = 3;

struct Cut {
    std::vector<Candidate> cut;  // one candidate, or a set to be cut together
    // The parent and the number of references, if `cut` contains the back references to one parent.
    NodeIx parent = kNone;
    std::uint64_t references = 0;
    bool on_every_cycle = false;  // `parent` is on every cycle that retains an owner
    bool tie = false;             // alternatives[0] is as good as cut[0]
    std::vector<Candidate> alternatives;
    double freed_share = 1;  // fraction of the retained size that `cut` frees; 0: not known
    bool of_class = false;   // a class is on the cycle
    // The pattern of the finding if `cut` is empty.
    const Evidence* without_cut = &patterns::kNoReference;
};

// `cycle` is a nonempty cycle of `component`. `work_left` is the number of nodes and references
// that find_last_references() may still visit. The limit applies to all components of one
// observation together.
[[nodiscard]] Cut choose_cut(const Component& component,
                             const Cycle& cycle,
                             const RetainedSize& held,
                             std::uint64_t& work_left);

}  // namespace cyclewatch::analysis
