// SPDX-License-Identifier: Apache-2.0
// A canonical order of nodes and references. The order does not depend on node numbers, so the
// report does not depend on the order in which the collector lists objects. Method: color
// refinement (Weisfeiler, Leman, "The reduction of a graph to canonical form", 1968).
#pragma once

#include <cstdint>

#include "analysis/collapsed_graph.h"

namespace cyclewatch::analysis {

// Sets `graph.text_hash` and `graph.color`, a hash of each node and its neighborhood, and sorts the
// references of each node by label and target. Refines colors four times or, in small graphs, until
// the number of colors stops growing. weight[n] is the number of bytes that the collapsed node n
// owns.
void canonicalize(CollapsedGraph& graph, const IndexedVector<NodeIx, std::uint64_t>& weight);

}  // namespace cyclewatch::analysis
