// SPDX-License-Identifier: Apache-2.0
// The CUDA driver API of libcuda.so.1, where the process has loaded it.
//
// It tells whether a question is harmless at all, because asking for its state creates nothing;
// and it answers where no runtime library is loaded (Numba, runtimes linked statically).
#pragma once

#include <cuda.h>

#include <cstdint>
#include <optional>

#include "device/device_memory.h"
#include "device/loaded_library.h"

namespace cyclewatch::device {

class CudaDriver {
  public:
    // Nothing if no driver is loaded, or one that lacks a function. May throw std::bad_alloc.
    static std::optional<CudaDriver> find();

    // What the calling thread would work in.
    struct Context {
        bool current = false;         // a live context is current
        bool primary_active = false;  // and the primary one of its device, which is the runtime's
        int device = 0;
    };
    [[nodiscard]] Context context() const noexcept;

    // Nothing before the program itself has initialised CUDA.
    [[nodiscard]] std::optional<int> device_count() const noexcept;

    // REQUIRES (both): context().current.
    [[nodiscard]] std::optional<PointerFacts> pointer_facts(std::uint64_t address) const noexcept;
    [[nodiscard]] std::optional<FreeMemory> memory(int device) const noexcept;

  private:
    struct Functions {
        decltype(&::cuCtxGetCurrent) context_get_current;
        decltype(&::cuCtxGetDevice) context_get_device;
        decltype(&::cuDevicePrimaryCtxGetState) primary_context_state;
        decltype(&::cuDeviceGetCount) device_get_count;
        decltype(&::cuPointerGetAttribute) pointer_get_attribute;
        decltype(&::cuMemGetInfo) memory_get_info;
        decltype(&::cuThreadExchangeStreamCaptureMode) exchange_capture_mode;
    };

    CudaDriver(LoadedLibrary library, const Functions& functions) noexcept;

    LoadedLibrary library_;
    Functions functions_;
};

}  // namespace cyclewatch::device
