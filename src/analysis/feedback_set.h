// SPDX-License-Identifier: Apache-2.0
// Finds a few references that together break all cycles of a component (a small feedback arc set).
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/candidate.h"

namespace cyclewatch::analysis {

// Repeatedly takes the best reference of a remaining cycle, starting with `cycle`, until no cycle
// retains memory; then drops the references that turned out to be unnecessary. Empty if a remaining
// cycle consists of references that a program cannot remove, or if more than six kinds of
// references would have to be cut. If `only_programs` is true, takes only references that code of
// the program stores: libraries store no attributes in objects of other libraries.
[[nodiscard]] std::vector<InnerCandidate> find_feedback_set(const Component& component,
                                                            const Cycle& cycle,
                                                            bool only_programs = false);

}  // namespace cyclewatch::analysis
