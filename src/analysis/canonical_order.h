// SPDX-License-Identifier: Apache-2.0
// An order of nodes and references that comes from what they are, never from their numbers, so
// that the same garbage gives the same report whatever order the collector listed it in.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/collapsed_graph.h"

namespace cyclewatch::analysis {

// Colours every node by what it is, what it refers to and what refers to it (B. Weisfeiler, A.
// Leman, 1968), and sorts each node's references by label and target. Four steps far, and as far as
// it tells more nodes apart where the graph is small enough.
// `weight`: per collapsed node, the bytes it owns.
void put_in_order(CollapsedGraph& graph, const std::vector<std::uint64_t>& weight);

}  // namespace cyclewatch::analysis
