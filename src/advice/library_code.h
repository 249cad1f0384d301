// SPDX-License-Identifier: Apache-2.0
// Findings that only a change of library code can fix.
#pragma once

#include "model/finding.h"

namespace cyclewatch::advice {

// True for a new finding, and for a finding in library code that no pattern explains. REQUIRES: the
// status is from Rules::judge().
[[nodiscard]] bool warns(const model::Finding& finding);

}  // namespace cyclewatch::advice
