// SPDX-License-Identifier: Apache-2.0
// The CUDA runtime that the process has loaded. Never linked: the copy that counts is the
// program's own, and its version is whatever it is.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <optional>

#include "device/device_memory.h"
#include "device/loaded_library.h"

namespace cyclewatch::device {

// Every question leaves the calling thread as it was: an error pending before is pending after
// (and then nothing is asked), an error of ours is taken away again, a stream capture goes on.
//
// REQUIRES (every question): the thread's context is current, live and the primary one of its
// device, which only the driver can tell (CudaDriver::context): else the runtime would create it.
class CudaRuntime {
  public:
    // The first one loaded that has all functions and is not older than CUDA 11; the others work
    // in the same primary contexts, so that any of them answers for all. May throw
    // std::bad_alloc.
    static std::optional<CudaRuntime> find();

    [[nodiscard]] std::optional<int> device_count() const noexcept;
    [[nodiscard]] std::optional<PointerFacts> pointer_facts(std::uint64_t address) const noexcept;
    [[nodiscard]] std::optional<FreeMemory> memory(int device) const noexcept;

  private:
    struct Functions {
        cudaError_t (*pointer_get_attributes)(cudaPointerAttributes*, const void*);
        cudaError_t (*memory_get_info)(std::size_t*, std::size_t*);
        cudaError_t (*get_device_count)(int*);
        cudaError_t (*get_last_error)();
        cudaError_t (*peek_at_last_error)();
        cudaError_t (*exchange_capture_mode)(cudaStreamCaptureMode*);
        cudaError_t (*runtime_get_version)(int*);
    };

    CudaRuntime(LoadedLibrary library, const Functions& functions) noexcept;

    // Asks `question`, a callable that returns cudaError_t. False if it was not asked, or failed.
    template <typename Question>
    [[nodiscard]] bool ask(Question&& question) const noexcept;

    LoadedLibrary library_;
    Functions functions_;
};

}  // namespace cyclewatch::device
