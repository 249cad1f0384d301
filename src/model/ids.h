// SPDX-License-Identifier: Apache-2.0
// Small value types of the model.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cyclewatch::model {

// Indices into the vectors of one observation, not valid for any other observation.
enum class NodeId : std::uint32_t {};     // index into ReferenceGraph::nodes
enum class StringId : std::uint32_t {};   // index into a StringTable; 0 is the empty string
enum class StorageId : std::uint32_t {};  // index into Observation::storages

inline constexpr StringId kEmptyString{0};

template <typename Id>
constexpr std::size_t index_of(Id id) noexcept {
    return static_cast<std::size_t>(id);
}

// The columns that an expression occupies in its line: the half-open range [start, end). Empty if
// the columns are unknown.
struct ColumnRange {
    std::uint32_t start = 0;
    std::uint32_t end = 0;

    [[nodiscard]] bool is_known() const noexcept { return start < end; }

    friend bool operator==(const ColumnRange&, const ColumnRange&) = default;
};

}  // namespace cyclewatch::model
