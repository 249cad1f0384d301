// SPDX-License-Identifier: Apache-2.0
// The CUDA driver API (libcuda.so.1), if the program has loaded it.
//
// Only the driver is called, never the CUDA runtime. The driver works with every context, including
// the primary contexts of the runtime. Unlike the runtime, the driver does not create contexts
// implicitly and has no last-error state.
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

    // The following two functions return nullopt if the calling thread has no live context or the
    // driver reports an error.
    [[nodiscard]] std::optional<PointerFacts> pointer_facts(std::uint64_t address) const noexcept;
    [[nodiscard]] std::optional<FreeMemory> memory() const noexcept;

  private:
    struct Functions {
        decltype(&::cuCtxGetCurrent) context_get_current;
        decltype(&::cuCtxGetDevice) context_get_device;
        decltype(&::cuDeviceGetCount) device_get_count;
        decltype(&::cuPointerGetAttribute) pointer_get_attribute;
        decltype(&::cuMemGetInfo) memory_get_info;
        decltype(&::cuThreadExchangeStreamCaptureMode) exchange_capture_mode;
    };

    CudaDriver(LoadedLibrary library, const Functions& functions) noexcept;

    // The device of the calling thread's context; nullopt if there is no live context.
    [[nodiscard]] std::optional<int> current_device() const noexcept;

    LoadedLibrary library_;  // keeps the functions callable
    Functions functions_;
};

}  // namespace cyclewatch::device
