// SPDX-License-Identifier: Apache-2.0
// Queries torch for the bytes that its CUDA allocator has in use, and for the locations at which
// freed memory was allocated. The locations come from torch's memory history
// (torch.cuda.memory._record_memory_history()). docs/design/devices.md explains the choice of
// functions.
//
// REQUIRES (everything here except allocation_of()): GIL held.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/source_path.h"

namespace cyclewatch::device {

// Bytes that torch has allocated to tensors on cuda:<device>. Returns nullopt if torch is not
// imported, has no CUDA support or has not used the device yet. Does not leave a Python error set
// or a new object alive. RUNS PYTHON: never; calls one C function of torch, which reads counters
// and does not call CUDA.
[[nodiscard]] std::optional<std::uint64_t> torch_allocated_bytes(int device) noexcept;

// True if torch records its memory history. False in a forked child, or if torch has not used
// `device`. Does not leave a Python error set. RUNS PYTHON: never; calls at most two C functions of
// torch.
[[nodiscard]] bool torch_records_history(int device) noexcept;

// A timestamp from the clock that torch's memory history uses.
struct WallTime {
    std::int64_t microseconds = 0;  // since the epoch

    [[nodiscard]] static WallTime now() noexcept {
        const auto time = std::chrono::system_clock::now().time_since_epoch();
        return {std::chrono::duration_cast<std::chrono::microseconds>(time).count()};
    }
};

// A storage found by a collection. Discarded after the allocation lookup and never part of a
// report, because it contains an address.
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

struct HistoryReading {
    std::vector<base::CallSite> sites;  // one per storage; the path is empty if unknown
    std::string failure;                // why nothing could be read; "" on success
    bool interrupted = false;           // KeyboardInterrupt or SystemExit is pending
};

// Looks up `storages` in one snapshot of torch's history. May take seconds: torch creates a dict
// for each recorded event and imports modules to symbolize the call stacks. REQUIRES: no collection
// in progress. RUNS PYTHON: torch's. Leaves a Python error set only if `interrupted` is true. May
// throw std::bad_alloc.
[[nodiscard]] HistoryReading read_torch_history(std::span<const CollectedStorage> storages);

}  // namespace cyclewatch::device
