// SPDX-License-Identifier: Apache-2.0
// The runtime: last errors, versions, and implicitly created contexts.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstring>

#include "simulated_cuda.h"

namespace {

namespace simulated = cyclewatch::simulated;
using simulated::Context;

simulated::SimulatedCuda state;
thread_local simulated::ThreadState thread;

// The driver during one call; a real runtime would load and keep it.
class Driver {
  public:
    Driver() : handle_(dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY)) {}
    ~Driver() {
        if (handle_ != nullptr) {
            dlclose(handle_);
        }
    }
    Driver(const Driver&) = delete;
    Driver& operator=(const Driver&) = delete;

    [[nodiscard]] bool loaded() const { return handle_ != nullptr; }
    template <typename Function>
    [[nodiscard]] Function* function(const char* name) const {
        return reinterpret_cast<Function*>(dlsym(handle_, name));
    }
    [[nodiscard]] simulated::SimulatedCuda& cuda() const {
        return *function<simulated::StateFunction>("cyclewatch_simulated_state")();
    }
    [[nodiscard]] simulated::ThreadState& thread() const {
        return *function<simulated::ThreadFunction>("cyclewatch_simulated_thread")();
    }

  private:
    void* handle_;
};

cudaError_t fail(cudaError_t error) {
    thread.last_error = error;
    return error;
}

cudaError_t from_driver(CUresult result) {
    switch (result) {
        case CUDA_SUCCESS:
            return cudaSuccess;
        case CUDA_ERROR_OUT_OF_MEMORY:
            return fail(cudaErrorMemoryAllocation);
        case CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED:
            return fail(cudaErrorStreamCaptureUnsupported);
        case CUDA_ERROR_LAUNCH_FAILED:
            return fail(cudaErrorLaunchFailure);
        case CUDA_ERROR_ILLEGAL_ADDRESS:
            return fail(cudaErrorIllegalAddress);
        default:
            return fail(cudaErrorUnknown);
    }
}

cudaError_t initialise(const Driver& driver) {
    if (!driver.loaded()) {
        ++state.counters.drivers_wanted;
        return fail(cudaErrorInsufficientDriver);
    }
    if (state.faults.driver_too_old) {
        return fail(cudaErrorInsufficientDriver);
    }
    if (!driver.cuda().initialised) {
        ++state.counters.initialisations;
        driver.cuda().initialised = true;
    }
    return from_driver(static_cast<CUresult>(driver.cuda().faults.sticky_error));
}

cudaError_t enter_context(const Driver& driver) {
    if (const cudaError_t error = initialise(driver); error != cudaSuccess) {
        return error;
    }
    const Context context = driver.thread().context;
    const bool stale = context == Context::none || context == Context::destroyed ||
                       (context == Context::primary && !driver.cuda().primary_active);
    // The runtime works in another context, too, but still creates the primary one.
    if (stale || !driver.cuda().primary_active) {
        ++state.counters.contexts_created;
        driver.cuda().primary_active = true;
        driver.thread().context = stale ? Context::primary : context;
    }
    return cudaSuccess;
}

}  // namespace

extern "C" {

simulated::SimulatedCuda* cyclewatch_simulated_state() {
    return &state;
}
simulated::ThreadState* cyclewatch_simulated_thread() {
    return &thread;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
    *version = state.faults.runtime_version;
    return cudaSuccess;
}

cudaError_t cudaPeekAtLastError() {
    return static_cast<cudaError_t>(thread.last_error);
}

cudaError_t cudaGetLastError() {
    // Sticky errors cannot be cleared.
    const Driver driver;
    const int error = thread.last_error;
    thread.last_error = driver.loaded() ? driver.cuda().faults.sticky_error : cudaSuccess;
    return static_cast<cudaError_t>(error);
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
    const Driver driver;
    if (const cudaError_t error = initialise(driver); error != cudaSuccess) {
        return error;
    }
    const int before = driver.thread().capture_mode;
    driver.thread().capture_mode = *mode;
    *mode = static_cast<cudaStreamCaptureMode>(before);
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
    const Driver driver;
    if (const cudaError_t error = initialise(driver); error != cudaSuccess) {
        return error;
    }
    *count = driver.cuda().faults.devices;
    return *count == 0 ? fail(cudaErrorNoDevice) : cudaSuccess;
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
    ++state.counters.questions;
    const Driver driver;
    if (const cudaError_t error = enter_context(driver); error != cudaSuccess) {
        return error;
    }
    return from_driver(driver.function<decltype(cuMemGetInfo)>("cuMemGetInfo_v2")(free, total));
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
    ++state.counters.questions;
    const Driver driver;
    if (const cudaError_t error = enter_context(driver); error != cudaSuccess) {
        return error;
    }
    auto* query = driver.function<decltype(cuPointerGetAttribute)>("cuPointerGetAttribute");
    const auto address = reinterpret_cast<CUdeviceptr>(pointer);
    unsigned int type = 0;
    unsigned int managed = 0;
    const CUresult known = query(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address);
    if (known != CUDA_SUCCESS && known != CUDA_ERROR_INVALID_VALUE) {
        return from_driver(known);
    }
    query(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address);
    cudaPointerAttributes answer{};
    answer.type = managed != 0 ? cudaMemoryTypeManaged : static_cast<cudaMemoryType>(type);
    answer.device = known == CUDA_SUCCESS ? 0 : -2;
    answer.devicePointer = const_cast<void*>(pointer);
    // Other versions of the runtime write a structure of another size.
    const std::size_t bytes = state.faults.attribute_bytes;
    std::memset(attributes, 0xEE, bytes);
    std::memcpy(attributes, &answer, std::min<std::size_t>(bytes, 24));
    return cudaSuccess;
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
    const Driver driver;
    if (const cudaError_t error = enter_context(driver); error != cudaSuccess) {
        return error;
    }
    auto* allocate = driver.function<simulated::AllocateFunction>("cyclewatch_simulated_allocate");
    *memory = allocate(bytes, CU_MEMORYTYPE_DEVICE, false);
    return *memory == nullptr ? fail(cudaErrorMemoryAllocation) : cudaSuccess;
}

cudaError_t cudaFree(void* memory) {
    const Driver driver;
    if (const cudaError_t error = enter_context(driver); error != cudaSuccess) {
        return error;
    }
    auto* release = driver.function<simulated::ReleaseFunction>("cyclewatch_simulated_release");
    return memory == nullptr || release(memory) ? cudaSuccess : fail(cudaErrorInvalidValue);
}

}  // extern "C"
