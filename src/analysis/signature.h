// SPDX-License-Identifier: Apache-2.0
// Computes the signature that identifies a finding. The signature is a hash of the names and labels
// of the finding's cycle.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "analysis/collapsed_graph.h"

namespace cyclewatch::analysis {

// "cw1-" and 16 hexadecimal digits. Does not depend on addresses, sizes, line numbers, indices or
// the reference at which the cycle starts. Equal cycles therefore have the same signature on every
// run, rank and machine.
[[nodiscard]] std::string signature_of(const CollapsedGraph& graph, std::span<const EdgeIx> cycle);

}  // namespace cyclewatch::analysis
