// SPDX-License-Identifier: Apache-2.0
// Queries torch for the bytes that its CUDA allocator has in use, and for the locations at which
// freed memory was allocated. The locations come from torch's memory history
// (torch.cuda.memory._record_memory_history()). docs/design/devices.md explains the choice of
// functions.
//
// REQUIRES (everything here): GIL held.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/source_path.h"
#include "device/memory_events.h"

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
