// SPDX-License-Identifier: Apache-2.0
// The CUDA driver API (libcuda.so.1), if the program has loaded it. The driver works with every
// context, including the primary contexts of the runtime. Unlike the runtime, it does not create
// contexts implicitly and has no last-error state.
//
// REQUIRES (everything here): GIL held. RUNS PYTHON: never.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "device/device_memory.h"
#include "device/loaded_library.h"

namespace cyclewatch::device {

class CudaDriver {
  public:
    // Null if the driver is not loaded or lacks a required function. May throw std::bad_alloc.
    static std::unique_ptr<CudaDriver> find();

    // nullopt until the program has initialized CUDA.
    [[nodiscard]] std::optional<int> device_count() const noexcept;
    // The device of the calling thread's context; nullopt if there is no live context, for example
    // because the program has not initialized CUDA.
    [[nodiscard]] std::optional<int> current_device() const noexcept;
    // True if the primary context of `device`, which the runtime uses, exists. REQUIRES: CUDA is
    // initialized.
    [[nodiscard]] bool primary_context_active(int device) const noexcept;

    // The following functions return nullopt if the driver reports an error or is too old.
    // REQUIRES: current_device() returns a device. PROMISES: does not invalidate a stream capture.
    [[nodiscard]] std::optional<PointerFacts> pointer_facts(std::uint64_t address) const noexcept;
    [[nodiscard]] std::optional<AddressRange> allocation_at(std::uint64_t address) const noexcept;
    [[nodiscard]] std::optional<FreeMemory> memory(int current_device) const noexcept;
    // REQUIRES: primary_context_active(device).
    [[nodiscard]] std::optional<ReservedMemory> reserved_memory(int device) const noexcept;
    // May throw std::bad_alloc.
    [[nodiscard]] std::optional<DeviceFacts> facts(int device) const;

  private:
    struct Functions {
        decltype(&::cuCtxGetCurrent) context_get_current;
        decltype(&::cuCtxGetDevice) context_get_device;
        decltype(&::cuDeviceGetCount) device_get_count;
        decltype(&::cuPointerGetAttribute) pointer_get_attribute;
        decltype(&::cuMemGetInfo) memory_get_info;
        decltype(&::cuThreadExchangeStreamCaptureMode) exchange_capture_mode;
        decltype(&::cuDevicePrimaryCtxGetState) primary_context_get_state;
        decltype(&::cuDriverGetVersion) driver_get_version;
        decltype(&::cuDeviceGetName) device_get_name;
        decltype(&::cuDeviceGetPCIBusId) device_get_pci_bus_id;
        decltype(&::cuDeviceTotalMem) device_total_memory;
        // Null in drivers older than CUDA 11.4.
        decltype(&::cuDeviceGetUuid) device_get_uuid;
        decltype(&::cuDeviceGetDefaultMemPool) get_default_pool;
        decltype(&::cuMemPoolGetAttribute) pool_get_attribute;
        decltype(&::cuDeviceGetGraphMemAttribute) get_graph_attribute;
    };

    CudaDriver(LoadedLibrary library, const Functions& functions) noexcept;

    LoadedLibrary library_;  // keeps the functions callable
    Functions functions_;
};

}  // namespace cyclewatch::device
