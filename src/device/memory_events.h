// SPDX-License-Identifier: Apache-2.0
// Identifies the recorded allocation of a storage that a collection freed. An allocator reuses
// addresses, so the latest allocation at an address is often not the one that was freed.
//
// Pure functions; no Python.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace cyclewatch::device {

// A timestamp from the clock that torch's memory history uses.
struct WallTime {
    std::int64_t microseconds = 0;  // since the epoch

    [[nodiscard]] static WallTime now() noexcept {
        const auto time = std::chrono::system_clock::now().time_since_epoch();
        return {std::chrono::duration_cast<std::chrono::microseconds>(time).count()};
    }
};

// A storage found by a collection. Contains an address, so this struct is kept only until the
// allocation has been looked up, and is never part of a report.
struct CollectedStorage {
    int device = 0;  // the index in "cuda:<index>"
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    bool released = true;  // freed by the collection
    WallTime unreachable;  // before the collection freed anything
    WallTime settled;      // after the collection
};

// An event at one address in torch's memory history.
struct MemoryEvent {
    enum class Kind : std::uint8_t { allocated, freed };
    Kind kind = Kind::allocated;
    std::uint64_t bytes = 0;
    std::int64_t microseconds = 0;  // since the epoch
};

// Maximum error of an event's time. torch computes this time from the processor's time stamp
// counter.
inline constexpr std::int64_t kTimestampError = 100;  // microseconds

// The index in `events` of the event that allocated `storage`. The allocation has the storage's
// size and precedes the collection. If the storage was released, the allocation was freed during
// the collection; otherwise, it was not freed before the collection ended. `events` contains the
// events at the storage's address, in recorded order. Returns nullopt unless exactly one allocation
// matches.
[[nodiscard]] std::optional<std::size_t> allocation_of(const CollectedStorage& storage,
                                                       std::span<const MemoryEvent> events);

}  // namespace cyclewatch::device
