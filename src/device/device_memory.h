// SPDX-License-Identifier: Apache-2.0
// Queries about CUDA devices and this process's memory on them. They are answered by the CUDA
// runtime that the program has loaded or, if the program uses the driver API only, by the driver.
// docs/design/devices.md explains the order of calls and the restrictions below.
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
class CudaRuntime;

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

// Memory that CUDA itself reserves on a device, in bytes.
struct ReservedMemory {
    std::uint64_t pool_reserved = 0;  // by the default pool of cudaMallocAsync()
    std::uint64_t pool_used = 0;      // the part of `pool_reserved` that is allocated
    std::uint64_t graphs = 0;         // for allocations in captured graphs
};

struct DeviceFacts {
    std::string name;         // "NVIDIA H100 80GB HBM3"
    std::string uuid;         // without the prefix "GPU-" that nvidia-smi prints; "" if unknown
    std::string pci_id;       // "0000:65:00.0"
    std::uint64_t total = 0;  // bytes
    int runtime_version = 0;  // 13000 for CUDA 13.0; 0 if the driver answered
    int driver_version = 0;   // the newest CUDA version that the driver supports
};

struct AddressRange {
    std::uint64_t start = 0;
    std::uint64_t bytes = 0;
};

// "6f1a4a5c-...": 16 bytes as hexadecimal digits in groups. May throw std::bad_alloc.
[[nodiscard]] std::string uuid_text(const char* bytes);

// Which library answers queries on the calling thread.
enum class Responder : std::uint8_t { none, driver, runtime };

// The queries and their cached state.
class DeviceQueries {
  public:
    explicit DeviceQueries(std::string device_files = "/dev");
    ~DeviceQueries();
    DeviceQueries(const DeviceQueries&) = delete;
    DeviceQueries& operator=(const DeviceQueries&) = delete;

    // True if a CUDA library is loaded and a device is available. Once the program has initialized
    // CUDA, the result depends on the driver's device count. Before that, CUDA must not be called,
    // so the result depends on the system's device files. Once the driver has reported a device,
    // the result remains true. Cheap enough for every collection, because the function only reads
    // the dynamic loader's counter and calls one driver function.
    [[nodiscard]] bool accelerator_usable() noexcept;

    // The following functions return nullopt in a forked child. They also return nullopt if the
    // driver is not loaded, has no live context on the calling thread, or reports an error.
    [[nodiscard]] std::optional<FreeMemory> current_device_memory() noexcept;
    [[nodiscard]] std::optional<PointerFacts> pointer_facts(std::uint64_t address) noexcept;
    // The allocation that contains `address`.
    [[nodiscard]] std::optional<AddressRange> allocation_at(std::uint64_t address) noexcept;
    // The following two functions also return nullopt if the program has not used `device`.
    [[nodiscard]] std::optional<ReservedMemory> reserved_memory(int device) noexcept;
    [[nodiscard]] std::optional<DeviceFacts> device_facts(int device) noexcept;

    // The error that the program's next call of the runtime would return on this thread; 0 if none
    // is pending or the runtime must not be called.
    [[nodiscard]] int pending_error() noexcept;
    [[nodiscard]] Responder responder() noexcept;

  private:
    // Who may be called on this thread. Both are null if nobody may.
    struct Target {
        const CudaDriver* driver = nullptr;
        const CudaRuntime* runtime = nullptr;  // null if an error is pending
        int device = 0;                        // current on this thread
        int pending_error = 0;                 // of the runtime
    };

    [[nodiscard]] Target find_target() noexcept;
    // Null if the driver is not loaded, and in a forked child.
    [[nodiscard]] const CudaDriver* find_driver() noexcept;
    void find_libraries();
    [[nodiscard]] bool system_shows_a_device() noexcept;

    std::string device_files_;
    std::unique_ptr<CudaDriver> driver_;
    std::unique_ptr<CudaRuntime> runtime_;
    // Stays loaded, because closing the last handle to a library runs its destructors, perhaps
    // during a collection.
    std::unique_ptr<CudaRuntime> replaced_runtime_;
    bool runtime_loaded_ = false;
    unsigned long long libraries_seen_ = 0;  // libraries_ever_loaded() at the last search
    std::optional<bool> system_shows_;
    bool usable_ = false;
};

// The instance of the process. The functions below call its functions.
[[nodiscard]] DeviceQueries& process_queries() noexcept;

[[nodiscard]] bool accelerator_usable() noexcept;
// True if accelerator_usable() has returned true because of the driver. Does not need the GIL.
[[nodiscard]] bool accelerator_was_usable() noexcept;

[[nodiscard]] std::optional<FreeMemory> current_device_memory() noexcept;
[[nodiscard]] std::optional<PointerFacts> pointer_facts(std::uint64_t address) noexcept;
[[nodiscard]] int pending_error() noexcept;

}  // namespace cyclewatch::device
