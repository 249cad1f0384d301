// SPDX-License-Identifier: Apache-2.0
// Whose code it is. The reference to cut is best sought in the code that the reader can change.
#pragma once

#include <cstdint>

#include "analysis/logical_graph.h"

namespace cyclewatch::analysis {

enum class Origin : std::uint8_t { user, library, standard_library };

[[nodiscard]] Origin origin_of(const LogicalGraph& graph, std::uint32_t node);

}  // namespace cyclewatch::analysis
