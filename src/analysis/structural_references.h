// SPDX-License-Identifier: Apache-2.0
// Recognises structural references: those that the interpreter creates for types, functions and
// modules. They are never the reference to cut, and a cycle that contains them is reported only if
// there is no other cycle.
#pragma once

#include "model/reference_graph.h"

namespace cyclewatch::analysis {

// `label`: of the reference from `holder` to `target` in the collapsed graph.
[[nodiscard]] bool is_structural(const model::ReferenceGraph& graph,
                                 const model::Node& holder,
                                 const model::EdgeLabel& label,
                                 const model::Node& target);

}  // namespace cyclewatch::analysis
