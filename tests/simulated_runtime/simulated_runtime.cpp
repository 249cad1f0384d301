// SPDX-License-Identifier: Apache-2.0
// The simulated runtime: a last error per thread, and the side effects of the real runtime's calls.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "simulated_cuda.h"

namespace {

namespace simulated = cyclewatch::simulated;
using simulated::Context;

simulated::SimulatedCuda state;
thread_local simulated::ThreadState thread;
const pid_t loaded_in = getpid();

// A handle to the driver for the duration of one call. The real runtime loads the driver.
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

// What every call except cudaRuntimeGetVersion() does first.
cudaError_t initialize(const Driver& driver) {
    ++state.counters.queries;
    if (!driver.loaded()) {
        ++state.counters.drivers_loaded;
        return fail(cudaErrorInsufficientDriver);
    }
    if (state.faults.driver_too_old) {
        return fail(cudaErrorInsufficientDriver);
    }
    if (getpid() != loaded_in) {
        return fail(cudaErrorInitializationError);  // a forked child
    }
    if (!driver.cuda().initialized) {
        ++state.counters.initializations;
        driver.cuda().initialized = true;
    }
    return cudaSuccess;
}

cudaError_t enter_context(const Driver& driver) {
    if (const cudaError_t error = initialize(driver); error != cudaSuccess) {
        return error;
    }
    Context& context = driver.thread().context;
    if (context == Context::none || context == Context::destroyed ||
        !driver.cuda().primary_active) {
        ++state.counters.contexts_created;
        driver.cuda().primary_active = true;
        context = context == Context::other ? context : Context::current;
    }
    return cudaSuccess;
}

// Fills a structure of `bytes` bytes, which may be larger or smaller than `Structure`.
template <typename Structure>
void write(void* target, const Structure& value, int bytes) {
    std::memset(target, 0xEE, static_cast<std::size_t>(bytes));
    std::memcpy(target, &value, std::min(sizeof value, static_cast<std::size_t>(bytes)));
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
    *version = 13000;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
    const Driver driver;
    const cudaError_t error = initialize(driver);
    *version = error == cudaSuccess ? 13010 : 0;
    return error;
}

cudaError_t cudaPeekAtLastError() {
    const Driver driver;
    const cudaError_t error = initialize(driver);
    return error == cudaSuccess ? static_cast<cudaError_t>(thread.last_error) : error;
}

cudaError_t cudaGetLastError() {
    const Driver driver;
    if (const cudaError_t error = initialize(driver); error != cudaSuccess) {
        return error;
    }
    const int error = thread.last_error;
    thread.last_error = driver.cuda().faults.sticky_error;
    return static_cast<cudaError_t>(error);
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
    const Driver driver;
    if (const cudaError_t error = initialize(driver); error != cudaSuccess) {
        return error;
    }
    const int before = driver.thread().capture_mode;
    driver.thread().capture_mode = *mode;
    *mode = static_cast<cudaStreamCaptureMode>(before);
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
    const Driver driver;
    if (const cudaError_t error = enter_context(driver); error != cudaSuccess) {
        return error;
    }
    return from_driver(driver.function<decltype(cuMemGetInfo_v2)>("cuMemGetInfo_v2")(free, total));
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
    const Driver driver;
    if (const cudaError_t error = enter_context(driver); error != cudaSuccess) {
        return error;
    }
    auto* const ask = driver.function<decltype(cuPointerGetAttribute)>("cuPointerGetAttribute");
    const auto address = reinterpret_cast<CUdeviceptr>(pointer);
    unsigned int type = 0;
    unsigned int managed = 0;
    const CUresult known = ask(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address);
    if (known != CUDA_SUCCESS && known != CUDA_ERROR_INVALID_VALUE) {
        return from_driver(known);
    }
    ask(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address);
    cudaPointerAttributes answer{};
    answer.type = managed != 0 ? cudaMemoryTypeManaged : static_cast<cudaMemoryType>(type);
    answer.device = known == CUDA_SUCCESS ? 0 : -2;
    answer.devicePointer = const_cast<void*>(pointer);
    write(attributes, answer, state.faults.attribute_bytes);
    return cudaSuccess;
}

// CUDA 12 renames this function, but exports it without suffix as well.
#undef cudaGetDeviceProperties
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int /*device*/) {
    const Driver driver;
    if (const cudaError_t error = initialize(driver); error != cudaSuccess) {
        return error;
    }
    cudaDeviceProp known{};
    std::snprintf(std::begin(known.name), sizeof known.name, "%s", simulated::kDeviceName);
    std::memset(&known.uuid, simulated::kUuidByte, sizeof known.uuid);
    known.totalGlobalMem = std::size_t{1} << 30;
    write(properties, known, state.faults.property_bytes);
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int room, int /*device*/) {
    const Driver driver;
    if (const cudaError_t error = initialize(driver); error != cudaSuccess) {
        return error;
    }
    std::snprintf(text, static_cast<std::size_t>(room), "%s", simulated::kPciId);
    return cudaSuccess;
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
    const Driver driver;
    if (const cudaError_t error = initialize(driver); error != cudaSuccess) {
        return error;
    }
    return from_driver(driver.function<decltype(cuDeviceGetDefaultMemPool)>(
        "cuDeviceGetDefaultMemPool")(pool, device));
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
    const Driver driver;
    if (const cudaError_t error = initialize(driver); error != cudaSuccess) {
        return error;
    }
    return from_driver(driver.function<decltype(cuMemPoolGetAttribute)>("cuMemPoolGetAttribute")(
        pool, static_cast<CUmemPool_attribute>(attribute), value));
}

cudaError_t cudaDeviceGetGraphMemAttribute(int device,
                                           cudaGraphMemAttributeType attribute,
                                           void* value) {
    const Driver driver;
    if (const cudaError_t error = initialize(driver); error != cudaSuccess) {
        return error;
    }
    return from_driver(
        driver.function<decltype(cuDeviceGetGraphMemAttribute)>("cuDeviceGetGraphMemAttribute")(
            device, static_cast<CUgraphMem_attribute>(attribute), value));
}

}  // extern "C"
