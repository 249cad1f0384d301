// SPDX-License-Identifier: Apache-2.0
// Strong integers that name things inside one observation. An id is an index into the
// vector that holds the thing, never an address, and means nothing outside that observation.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cyclewatch::model {

enum class NodeId : std::uint32_t {};     // index into ReferenceGraph::nodes
enum class EdgeId : std::uint32_t {};     // index into ReferenceGraph::edges
enum class StringId : std::uint32_t {};   // index into a StringTable; 0 is the empty string
enum class StorageId : std::uint32_t {};  // index into Observation::storages

inline constexpr StringId kEmptyString{0};

template <typename Id>
constexpr std::size_t index_of(Id id) noexcept {
    return static_cast<std::size_t>(id);
}

}  // namespace cyclewatch::model
