// SPDX-License-Identifier: Apache-2.0
// What is drawn of a finding: its loop, and the ways to the heaviest owners.
#pragma once

#include <cstdint>
#include <span>

#include "analysis/logical_graph.h"
#include "analysis/owner_walk.h"
#include "analysis/sample.h"
#include "model/finding.h"

namespace cyclewatch::analysis {

inline constexpr std::size_t kMostItems = 40;
// As many as still make a ring.
inline constexpr std::size_t kMostLoopItems = 10;

// Loop items first, in loop order. `cut`: logical references drawn as cut. `walk` has just
// walked `loop`.
[[nodiscard]] model::Picture make_picture(const LogicalGraph& graph,
                                          const Sample& sample,
                                          std::span<const std::uint32_t> loop,
                                          std::span<const std::uint32_t> cut,
                                          const OwnerWalk& walk);

}  // namespace cyclewatch::analysis
