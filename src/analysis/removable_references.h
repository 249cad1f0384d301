// SPDX-License-Identifier: Apache-2.0
// Finds references that a program can usually drop without other changes: what its hooks refer to,
// and stored frames and tracebacks.
#pragma once

#include <vector>

#include "analysis/candidate.h"

namespace cyclewatch::analysis {

// If `cycle` passes through a hook, or through a stored frame or traceback, returns a smallest set
// of such references that breaks all cycles of the component, one candidate per kind of reference.
// A function that is a hook is cut where it refers to what it needs. Any other hook is cut where it
// is registered, as is a function with which a library calls a function of the program. Empty if
// there is no such set with at most six kinds.
[[nodiscard]] std::vector<InnerCandidate> find_removable_references(const Component& component,
                                                                    const Cycle& cycle);

}  // namespace cyclewatch::analysis
