// SPDX-License-Identifier: Apache-2.0
// Whose code it is. The reference to cut is best sought in the code that the reader can change.
#pragma once

#include <cstdint>

#include "analysis/collapsed_graph.h"
#include "base/source_path.h"

namespace cyclewatch::analysis {

using base::Origin;

[[nodiscard]] Origin origin_of(const CollapsedGraph& graph, std::uint32_t node);

// True if the user's code may have made what `node` refers to. A container has no author of its
// own: it may be anybody's.
[[nodiscard]] bool may_be_users(const CollapsedGraph& graph, std::uint32_t node);

}  // namespace cyclewatch::analysis
