// SPDX-License-Identifier: Apache-2.0
// The CUDA runtime (libcudart) that the program has loaded. Never linked.
//
// Every call of the runtime except cudaRuntimeGetVersion() loads and initializes the driver if the
// program has not done so, even cudaPeekAtLastError(). Many calls create the primary context if the
// thread has none. docs/design/devices.md lists what was measured.
//
// REQUIRES (everything here): GIL held. RUNS PYTHON: never.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "device/device_memory.h"
#include "device/loaded_library.h"

namespace cyclewatch::device {

// The name of a runtime error, such as "cudaErrorIllegalAddress"; "" if it is not in our table.
[[nodiscard]] std::string_view runtime_error_name(int error) noexcept;
// True for an error after which the device cannot be used until the process ends.
[[nodiscard]] bool is_device_lost(int error) noexcept;

// A program may have loaded several copies of the runtime. Each copy has its own last error, but
// all copies use the same primary contexts, so that every copy answers for the whole process.
//
// REQUIRES (every query): a live context is current on the calling thread, and the primary context
// of its device is active. Only the driver can tell (CudaDriver). No error is pending.
// PROMISES: removes an error that a query has caused, so that the program does not see it. Keeps
// the capture mode of the thread, and does not invalidate a stream capture.
class CudaRuntime {
  public:
    // The copy that torch uses or, without torch, the first loaded copy that has all functions
    // (CUDA 11.4 and later). Null if there is none. Calls no function of the runtime. May throw
    // std::bad_alloc.
    static std::unique_ptr<CudaRuntime> find();

    // True if torch's library depends on this copy.
    [[nodiscard]] bool used_by_torch() const noexcept { return used_by_torch_; }

    // The error that the program's next call would return; 0 if none is pending. Keeps the error.
    [[nodiscard]] int pending_error() const noexcept;

    [[nodiscard]] std::optional<PointerFacts> pointer_facts(std::uint64_t address) const noexcept;
    [[nodiscard]] std::optional<FreeMemory> memory(int device) const noexcept;
    [[nodiscard]] std::optional<ReservedMemory> reserved_memory(int device) const noexcept;
    // May throw std::bad_alloc.
    [[nodiscard]] std::optional<DeviceFacts> facts(int device) const;

  private:
    struct Functions {
        decltype(&::cudaPeekAtLastError) peek_at_last_error;
        decltype(&::cudaGetLastError) get_last_error;
        decltype(&::cudaThreadExchangeStreamCaptureMode) exchange_capture_mode;
        decltype(&::cudaMemGetInfo) memory_get_info;
        decltype(&::cudaPointerGetAttributes) pointer_get_attributes;
        decltype(&::cudaGetDeviceProperties) get_device_properties;
        decltype(&::cudaDeviceGetPCIBusId) get_pci_bus_id;
        decltype(&::cudaRuntimeGetVersion) runtime_get_version;
        decltype(&::cudaDriverGetVersion) driver_get_version;
        decltype(&::cudaDeviceGetDefaultMemPool) get_default_pool;
        decltype(&::cudaMemPoolGetAttribute) pool_get_attribute;
        decltype(&::cudaDeviceGetGraphMemAttribute) get_graph_attribute;
    };

    CudaRuntime(LoadedLibrary library, const Functions& functions, bool used_by_torch) noexcept;
    static std::unique_ptr<CudaRuntime> in(LoadedLibrary library, bool used_by_torch);

    // Calls `query` with the thread's capture mode set to relaxed. Returns false if a call failed.
    template <typename Query>
    [[nodiscard]] bool ask(Query&& query) const noexcept;

    LoadedLibrary library_;  // keeps the functions callable
    Functions functions_;
    bool used_by_torch_;
};

}  // namespace cyclewatch::device
