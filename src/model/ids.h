// SPDX-License-Identifier: Apache-2.0
// Small value types of the model.
#pragma once

#include <cstdint>

#include "base/index.h"

namespace cyclewatch::model {

// Indices into the vectors of one observation, not valid for any other observation.
enum class NodeId : std::uint32_t {};     // index into ReferenceGraph::nodes
enum class EdgeId : std::uint32_t {};     // index into ReferenceGraph::edges
enum class OwnerId : std::uint32_t {};    // index into Observation::owners
enum class StringId : std::uint32_t {};   // index into a StringTable; 0 is the empty string
enum class StorageId : std::uint32_t {};  // index into Observation::storages

inline constexpr StringId kEmptyString{0};

using base::index_of;
using base::IndexedVector;
using base::IndexRange;

// The columns that an expression occupies in its line: the half-open range [start, end). Empty if
// the columns are unknown.
struct ColumnRange {
    std::uint32_t start = 0;
    std::uint32_t end = 0;

    [[nodiscard]] bool is_known() const noexcept { return start < end; }

    friend bool operator==(const ColumnRange&, const ColumnRange&) = default;
};

}  // namespace cyclewatch::model
