// SPDX-License-Identifier: Apache-2.0
// Adjusts the weight of a reference by the origin of the code that creates the reference.
#pragma once

#include <cstddef>

#include "analysis/cycle_view.h"

namespace cyclewatch::analysis {

// The value to add to the weight of reference `i` of the cycle: negative if code of the standard
// library or of another library creates the reference, and user code can be changed instead.
[[nodiscard]] int adjustment_of(const CycleView& cycle, std::size_t i);

}  // namespace cyclewatch::analysis
