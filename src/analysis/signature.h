// SPDX-License-Identifier: Apache-2.0
// Computes the signature that identifies a finding: a hash of the names and labels of its cycle.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analysis/collapsed_graph.h"

namespace cyclewatch::analysis {

// "cw1-" and 16 hexadecimal digits. Contains no addresses, sizes, lines or indices, and does not
// depend on the start of the cycle. Equal cycles therefore have the same signature on every run,
// rank and machine.
[[nodiscard]] std::string signature_of(const CollapsedGraph& graph,
                                       std::span<const std::uint32_t> cycle);

// The start of the lexicographically least rotation of `ring`. Two-candidate method, linear time
// (K. S. Booth, "Lexicographically least circular substrings", 1980, solves the same problem).
[[nodiscard]] std::size_t least_rotation(const std::vector<std::string>& ring);

}  // namespace cyclewatch::analysis
