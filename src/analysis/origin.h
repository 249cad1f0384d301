// SPDX-License-Identifier: Apache-2.0
// Classifies code as user, library or standard library.
#pragma once

#include <cstdint>

#include "analysis/collapsed_graph.h"
#include "base/source_path.h"

namespace cyclewatch::analysis {

using base::Origin;

// The origin of the code or class of `node`.
[[nodiscard]] Origin origin_of(const CollapsedGraph& graph, std::uint32_t node);

// True if user code may have created the references of `node`. Always true for a container.
[[nodiscard]] bool may_be_users(const CollapsedGraph& graph, std::uint32_t node);

}  // namespace cyclewatch::analysis
