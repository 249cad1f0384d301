// SPDX-License-Identifier: Apache-2.0
// Which references are part of how types, functions and modules work. They are never the
// reference to cut, and make a cycle only where no other one exists.
#pragma once

#include "model/reference_graph.h"

namespace cyclewatch::analysis {

// `label` goes from `holder` to `target` in the collapsed graph.
[[nodiscard]] bool is_structural(const model::ReferenceGraph& graph,
                                 const model::Node& holder,
                                 const model::EdgeLabel& label,
                                 const model::Node& target);

}  // namespace cyclewatch::analysis
