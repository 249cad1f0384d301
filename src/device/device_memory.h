// SPDX-License-Identifier: Apache-2.0
// Queries about this process's device memory. They use the CUDA driver if the program has loaded
// it. docs/design/devices.md explains the restrictions below.
//
// REQUIRES (everything here): GIL held. RUNS PYTHON: never.
// PROMISES: does not load or initialize libraries, create contexts, set or clear CUDA errors, or
// invalidate stream captures. A forked child never calls CUDA.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace cyclewatch::device {

class CudaDriver;

// Free and total bytes of the device whose context is current.
struct FreeMemory {
    int device = 0;
    std::uint64_t free = 0;
    std::uint64_t total = 0;
};

// True in a child of fork(), where CUDA is unusable.
[[nodiscard]] bool in_forked_child() noexcept;

enum class MemoryKind : std::uint8_t {
    unregistered,  // unknown to CUDA, or already freed
    host,
    device,  // including managed memory
};

struct PointerFacts {
    MemoryKind kind = MemoryKind::unregistered;
    int device = 0;
};

// The queries and their cached state. The free functions below share one instance per process.
class DeviceQueries {
  public:
    explicit DeviceQueries(std::string device_files = "/dev");
    ~DeviceQueries();
    DeviceQueries(const DeviceQueries&) = delete;
    DeviceQueries& operator=(const DeviceQueries&) = delete;

    [[nodiscard]] bool accelerator_usable() noexcept;
    [[nodiscard]] std::optional<FreeMemory> current_device_memory() noexcept;
    [[nodiscard]] std::optional<PointerFacts> pointer_facts(std::uint64_t address) noexcept;

  private:
    // Null if the driver is not loaded, and in a forked child.
    [[nodiscard]] const CudaDriver* find_driver() noexcept;
    [[nodiscard]] bool system_shows_a_device() noexcept;

    std::string device_files_;
    std::unique_ptr<CudaDriver> driver_;
    bool runtime_loaded_ = false;
    unsigned long long libraries_seen_ = 0;  // libraries_ever_loaded() at the last search
    std::optional<bool> system_shows_;
    bool usable_ = false;
};

// True if a CUDA library is loaded and a device is available. Once the program has initialized
// CUDA, the result depends on the driver's device count. Before that, CUDA must not be called, so
// the result depends on the system's device files. Once the driver has reported a device, the
// result remains true. Cheap enough for every collection, because the function only reads the
// dynamic loader's counter and calls one driver function.
[[nodiscard]] bool accelerator_usable() noexcept;

// The following two functions return nullopt in a forked child. They also return nullopt if the
// driver is not loaded, has no live context on the calling thread, or reports an error.
[[nodiscard]] std::optional<FreeMemory> current_device_memory() noexcept;
[[nodiscard]] std::optional<PointerFacts> pointer_facts(std::uint64_t address) noexcept;

}  // namespace cyclewatch::device
