// SPDX-License-Identifier: Apache-2.0
// The one sentence that a tired reader has to understand.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "analysis/cut.h"

namespace cyclewatch::analysis {

// "Engine is part of a reference loop that keeps 4.0 KiB of device memory alive: cut
// <lambda>.closure:self (train.py:12)." `loop`: logical references.
[[nodiscard]] std::string headline_of(const LogicalGraph& graph,
                                      std::span<const std::uint32_t> loop,
                                      const Cut& cut,
                                      std::uint64_t held_bytes,
                                      std::uint64_t shared_bytes);

// Why to cut reference number `i` of this candidate: what its pattern says and, where one
// reference is not enough, that.
[[nodiscard]] std::string reason_of(const LogicalGraph& graph,
                                    const Candidate& candidate,
                                    std::size_t i,
                                    std::size_t set_size);

// What to write instead, for the reference to cut.
[[nodiscard]] std::string advice_of(const LogicalGraph& graph, const Cut& cut);

}  // namespace cyclewatch::analysis
