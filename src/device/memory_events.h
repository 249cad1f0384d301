// SPDX-License-Identifier: Apache-2.0
// Which allocation of an address was the one that a collection freed. An allocator hands the same
// address out again and again, so that what is there now, or was there last, is often another
// tenant. Pure; knows no Python.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "device/wall_time.h"

namespace cyclewatch::device {

// A storage of a collection. Holds an address: lives from the collection until its allocation was
// looked up, and goes into no report.
struct CollectedStorage {
    int device = 0;  // the number of "cuda:<number>"
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    bool released = true;  // by the collection; false: it was still there at the end
    WallTime unreachable;  // before the collection freed anything
    WallTime settled;      // after it had freed everything
};

// Something that happened at one address.
struct MemoryEvent {
    enum class Kind : std::uint8_t { allocated, freed };
    Kind kind = Kind::allocated;
    std::uint64_t bytes = 0;
    std::int64_t microseconds = 0;  // since the epoch
};

// How far the stamps of a history may be off: they are read from the processor's counter and
// converted afterwards.
inline constexpr std::int64_t kStampError = 100;  // microseconds

// The index of the allocation that was `storage`: of its size, there when the collection began to
// free, and freed by it (or not, if the storage was not released). `events` are those at its
// address, in order. Nothing if there is none, or more than one that it may have been.
[[nodiscard]] std::optional<std::size_t> allocation_of(const CollectedStorage& storage,
                                                       std::span<const MemoryEvent> events);

}  // namespace cyclewatch::device
