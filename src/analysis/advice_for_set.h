// SPDX-License-Identifier: Apache-2.0
// The advice on a set of references from children back to their parent.
#pragma once

#include <string>

#include "analysis/cut.h"

namespace cyclewatch::analysis {

// True if weak references can replace at least one reference of the set.
[[nodiscard]] bool can_use_weak_references(const CollapsedGraph& graph, const Cut& cut);

// Sentences on how to change each reference of the set. `code` is code_of() the first reference.
[[nodiscard]] std::string advice_for_set(const CollapsedGraph& graph,
                                         const Cut& cut,
                                         std::string code);

}  // namespace cyclewatch::analysis
