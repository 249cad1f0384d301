// SPDX-License-Identifier: Apache-2.0
// The number of cycles that one component represents, namely the component's own cycle and the
// cycles in clusters of the same shape that were counted but not captured (model::RepeatedShape).
#pragma once

#include <cstdint>

#include "analysis/collapsed_graph.h"
#include "analysis/retained_size.h"
#include "model/observation.h"

namespace cyclewatch::analysis {

// The number of occurrences that one captured cycle represents.
struct Weight {
    std::uint64_t repeats = 0;       // cycles of the same shape that were not captured
    std::uint64_t repeat_bytes = 0;  // their retained bytes
    bool repeats_equal = false;      // they have exactly the same owners and bytes

    // The number of cycles with the same owners and bytes, including the captured one.
    [[nodiscard]] std::uint64_t equal() const { return 1 + (repeats_equal ? repeats : 0); }
};

// Returns the weight of each component. The bytes of clusters that were counted but not captured
// are divided among the components of the captured cluster, in proportion to the retained bytes of
// these components.
[[nodiscard]] IndexedVector<ComponentIx, Weight> weigh_components(
    const CollapsedGraph& graph,
    const Components& components,
    const RetainedSize& retained,
    const model::Observation& observation);

}  // namespace cyclewatch::analysis
