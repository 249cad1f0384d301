// SPDX-License-Identifier: Apache-2.0
// The objects of a component that may be the parent to which back references lead.
#pragma once

#include <vector>

#include "analysis/roles.h"
#include "analysis/shortest_cycle.h"

namespace cyclewatch::analysis {

// The candidates for the parent, most likely first: the objects of `cycle`, the last object of each
// chain of attributes with the same name (`.parent.parent`), and the objects with the most incoming
// references. At most 28.
[[nodiscard]] std::vector<MemberIx> parent_candidates(const Component& component,
                                                      const Cycle& cycle,
                                                      const Holders& holders,
                                                      const Roles& roles);

}  // namespace cyclewatch::analysis
