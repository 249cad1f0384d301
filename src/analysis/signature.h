// SPDX-License-Identifier: Apache-2.0
// What makes two findings the same one: names of types and code, and the labels between them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analysis/collapsed_graph.h"

namespace cyclewatch::analysis {

// "cw1-" and 16 hexadecimal digits. Equal for equal cycles wherever they were met first, on every
// run, rank and machine: no addresses, sizes, lines or indices go into it.
[[nodiscard]] std::string signature_of(const CollapsedGraph& graph,
                                       std::span<const std::uint32_t> cycle);

// Start of the least rotation: K. Booth, "Lexicographically Least Circular Substrings", 1980.
[[nodiscard]] std::size_t least_rotation(const std::vector<std::string>& ring);

}  // namespace cyclewatch::analysis
