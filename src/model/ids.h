// SPDX-License-Identifier: Apache-2.0
// Strongly typed indices into the vectors of one observation. These indices are not valid for any
// other observation.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cyclewatch::model {

enum class NodeId : std::uint32_t {};     // index into ReferenceGraph::nodes
enum class StringId : std::uint32_t {};   // index into a StringTable; 0 is the empty string
enum class StorageId : std::uint32_t {};  // index into Observation::storages

inline constexpr StringId kEmptyString{0};

template <typename Id>
constexpr std::size_t index_of(Id id) noexcept {
    return static_cast<std::size_t>(id);
}

}  // namespace cyclewatch::model
