// SPDX-License-Identifier: Apache-2.0
#include "device/cuda_driver.h"

#include <cstddef>
#include <utility>

namespace cyclewatch::device {

namespace {

// Switches the thread's stream capture mode to relaxed. In the other modes, a query that CUDA
// considers unsafe invalidates a capture in progress.
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
    CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;  // then the previous mode
    bool relaxed_;
};

// Managed memory migrates between host and device; it is counted as device memory.
MemoryKind kind_of(unsigned int type, bool managed) noexcept {
    return type == CU_MEMORYTYPE_HOST && !managed ? MemoryKind::host : MemoryKind::device;
}

}  // namespace

CudaDriver::CudaDriver(LoadedLibrary library, const Functions& functions) noexcept
    : library_(std::move(library)), functions_(functions) {}

std::unique_ptr<CudaDriver> CudaDriver::find() {
    LoadedLibrary library = LoadedLibrary::find("libcuda");
    if (!library) {
        return nullptr;
    }
    Functions found{};
    // The symbol cuMemGetInfo without a suffix is an old function with 32-bit sizes.
    const bool complete =
        library.take(found.context_get_current, "cuCtxGetCurrent") &&
        library.take(found.context_get_device, "cuCtxGetDevice") &&
        library.take(found.device_get_count, "cuDeviceGetCount") &&
        library.take(found.pointer_get_attribute, "cuPointerGetAttribute") &&
        library.take(found.memory_get_info, "cuMemGetInfo_v2") &&
        library.take(found.exchange_capture_mode, "cuThreadExchangeStreamCaptureMode");
    if (!complete) {
        return nullptr;
    }
    return std::unique_ptr<CudaDriver>(new CudaDriver(std::move(library), found));
}

std::optional<int> CudaDriver::current_device() const noexcept {
    CUcontext current = nullptr;
    CUdevice device = 0;
    // A destroyed context remains current but no longer has a device.
    if (functions_.context_get_current(&current) != CUDA_SUCCESS || current == nullptr ||
        functions_.context_get_device(&device) != CUDA_SUCCESS) {
        return std::nullopt;
    }
    return device;
}

std::optional<int> CudaDriver::device_count() const noexcept {
    int count = 0;
    if (functions_.device_get_count(&count) != CUDA_SUCCESS) {
        return std::nullopt;
    }
    return count;
}

std::optional<PointerFacts> CudaDriver::pointer_facts(std::uint64_t address) const noexcept {
    if (!current_device()) {
        return std::nullopt;
    }
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

std::optional<FreeMemory> CudaDriver::memory() const noexcept {
    const std::optional<int> device = current_device();
    if (!device) {
        return std::nullopt;
    }
    const RelaxedCapture relaxed(functions_.exchange_capture_mode);
    std::size_t free = 0;
    std::size_t total = 0;
    if (!relaxed || functions_.memory_get_info(&free, &total) != CUDA_SUCCESS) {
        return std::nullopt;
    }
    return FreeMemory{.device = *device, .free = free, .total = total};
}

}  // namespace cyclewatch::device
