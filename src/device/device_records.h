// SPDX-License-Identifier: Apache-2.0
// Describes CUDA devices for the report, and divides the memory of a device by use.
//
// REQUIRES (everything here except break_down()): GIL held, outside collections. RUNS PYTHON:
// never; calls at most two C functions of torch. PROMISES: the same as device_memory.h.
#pragma once

#include <cstdint>
#include <optional>

#include "device/device_memory.h"
#include "model/report.h"

namespace cyclewatch::device {

// nullopt if CUDA must not be queried on this thread, or the program has not used the device. The
// fields `process`, `error` and `memory` are not set. May throw std::bad_alloc.
[[nodiscard]] std::optional<model::DeviceRecord> describe_device(DeviceQueries& cuda, int device);

// Memory of torch's allocator, in bytes.
struct TorchMemory {
    std::uint64_t allocated = 0;
    std::uint64_t reserved = 0;
    std::uint64_t peak = 0;       // the most that was allocated at one time; 0 if unknown
    bool uses_cuda_pool = false;  // torch allocates with cudaMallocAsync()
};

// nullopt if torch is not imported, has no CUDA support or has not used the device. Leaves no
// Python error.
[[nodiscard]] std::optional<TorchMemory> torch_memory(int device) noexcept;

// The memory of a device after a collection (or a scan) that found `dead` bytes.
struct MemoryInUse {
    FreeMemory cuda;
    std::optional<TorchMemory> torch;
    ReservedMemory reserved{};
    std::uint64_t dead = 0;
    // The part of `dead` that the collection returned to torch's allocator.
    std::uint64_t freed_to_torch = 0;
    // The part of `dead` that torch still counts as allocated: in a scan, all of it.
    std::uint64_t allocated_by_torch = 0;
};

// The division before the collection. The values add up to `cuda.total`.
[[nodiscard]] model::MemoryBreakdown break_down(const MemoryInUse& memory) noexcept;

// Queries the current division of the memory. `sample`: the collection's own measurement of the
// device, or null for a scan. nullopt if another device is current on this thread.
[[nodiscard]] std::optional<model::MemoryBreakdown> measure_device(
    DeviceQueries& cuda,
    int device,
    std::uint64_t dead,
    const model::DeviceMemory* sample) noexcept;

}  // namespace cyclewatch::device
