// SPDX-License-Identifier: Apache-2.0
#include "device/cuda_driver.h"

#include <cstddef>
#include <utility>

namespace cyclewatch::device {

namespace {

// Questions are harmless to a capture only where the thread is in relaxed mode: a global or a
// thread-local capture is invalidated by calls that it holds for unsafe.
class RelaxedCapture {
  public:
    explicit RelaxedCapture(decltype(&::cuThreadExchangeStreamCaptureMode) exchange) noexcept
        : exchange_(exchange), relaxed_(exchange_(&mode_) == CUDA_SUCCESS) {}
    ~RelaxedCapture() {
        if (relaxed_) {
            exchange_(&mode_);
        }
    }
    RelaxedCapture(const RelaxedCapture&) = delete;
    RelaxedCapture& operator=(const RelaxedCapture&) = delete;
    explicit operator bool() const noexcept { return relaxed_; }

  private:
    decltype(&::cuThreadExchangeStreamCaptureMode) exchange_;
    CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;  // then what it was before
    bool relaxed_;
};

MemoryKind kind_of(unsigned int type, bool managed) noexcept {
    if (managed) {
        return MemoryKind::managed;
    }
    switch (type) {
        case CU_MEMORYTYPE_HOST:
            return MemoryKind::host;
        case CU_MEMORYTYPE_DEVICE:
        case CU_MEMORYTYPE_ARRAY:
            return MemoryKind::device;
        case CU_MEMORYTYPE_UNIFIED:
            return MemoryKind::managed;
        default:
            return MemoryKind::unregistered;
    }
}

}  // namespace

CudaDriver::CudaDriver(LoadedLibrary library, const Functions& functions) noexcept
    : library_(std::move(library)), functions_(functions) {}

std::optional<CudaDriver> CudaDriver::find() {
    LoadedLibrary library = LoadedLibrary::find("libcuda");
    if (!library) {
        return std::nullopt;
    }
    Functions found{};
    // cuMemGetInfo without its suffix is an old function that counts in 32 bits.
    const bool complete =
        library.take(found.context_get_current, "cuCtxGetCurrent") &&
        library.take(found.context_get_device, "cuCtxGetDevice") &&
        library.take(found.primary_context_state, "cuDevicePrimaryCtxGetState") &&
        library.take(found.device_get_count, "cuDeviceGetCount") &&
        library.take(found.pointer_get_attribute, "cuPointerGetAttribute") &&
        library.take(found.memory_get_info, "cuMemGetInfo_v2") &&
        library.take(found.exchange_capture_mode, "cuThreadExchangeStreamCaptureMode");
    if (!complete) {
        return std::nullopt;
    }
    return CudaDriver(std::move(library), found);
}

CudaDriver::Context CudaDriver::context() const noexcept {
    CUcontext current = nullptr;
    if (functions_.context_get_current(&current) != CUDA_SUCCESS || current == nullptr) {
        return {};
    }
    // A context that was destroyed stays on the thread's stack; it no longer has a device.
    CUdevice device = 0;
    if (functions_.context_get_device(&device) != CUDA_SUCCESS) {
        return {};
    }
    unsigned int flags = 0;
    int active = 0;
    const CUresult state = functions_.primary_context_state(device, &flags, &active);
    return {
        .current = true, .primary_active = state == CUDA_SUCCESS && active != 0, .device = device};
}

std::optional<int> CudaDriver::device_count() const noexcept {
    int count = 0;
    if (functions_.device_get_count(&count) != CUDA_SUCCESS) {
        return std::nullopt;
    }
    return count;
}

std::optional<PointerFacts> CudaDriver::pointer_facts(std::uint64_t address) const noexcept {
    const RelaxedCapture relaxed(functions_.exchange_capture_mode);
    if (!relaxed) {
        return std::nullopt;
    }
    unsigned int type = 0;
    const CUresult known =
        functions_.pointer_get_attribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address);
    if (known == CUDA_ERROR_INVALID_VALUE) {
        return PointerFacts{};
    }
    int device = 0;
    unsigned int managed = 0;
    if (known != CUDA_SUCCESS ||
        functions_.pointer_get_attribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address) !=
            CUDA_SUCCESS ||
        functions_.pointer_get_attribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address) !=
            CUDA_SUCCESS) {
        return std::nullopt;
    }
    return PointerFacts{.kind = kind_of(type, managed != 0), .device = device};
}

std::optional<FreeMemory> CudaDriver::memory(int device) const noexcept {
    const RelaxedCapture relaxed(functions_.exchange_capture_mode);
    std::size_t free = 0;
    std::size_t total = 0;
    if (!relaxed || functions_.memory_get_info(&free, &total) != CUDA_SUCCESS) {
        return std::nullopt;
    }
    return FreeMemory{.device = device, .free = free, .total = total};
}

}  // namespace cyclewatch::device
