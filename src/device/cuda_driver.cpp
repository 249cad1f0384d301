// SPDX-License-Identifier: Apache-2.0
#include "device/cuda_driver.h"

#include <array>
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
        library.take_all({{"cuCtxGetCurrent", found.context_get_current},
                          {"cuCtxGetDevice", found.context_get_device},
                          {"cuDeviceGetCount", found.device_get_count},
                          {"cuPointerGetAttribute", found.pointer_get_attribute},
                          {"cuMemGetInfo_v2", found.memory_get_info},
                          {"cuThreadExchangeStreamCaptureMode", found.exchange_capture_mode},
                          {"cuDevicePrimaryCtxGetState", found.primary_context_get_state},
                          {"cuDriverGetVersion", found.driver_get_version},
                          {"cuDeviceGetName", found.device_get_name},
                          {"cuDeviceGetPCIBusId", found.device_get_pci_bus_id},
                          {"cuDeviceTotalMem_v2", found.device_total_memory}});
    if (!complete) {
        return nullptr;
    }
    // The UUID of the second version is that of the MIG instance, if the device is one.
    library.take_all({{"cuDeviceGetUuid_v2", found.device_get_uuid},
                      {"cuDeviceGetDefaultMemPool", found.get_default_pool},
                      {"cuMemPoolGetAttribute", found.pool_get_attribute},
                      {"cuDeviceGetGraphMemAttribute", found.get_graph_attribute}});
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

bool CudaDriver::primary_context_active(int device) const noexcept {
    unsigned int flags = 0;
    int active = 0;
    return functions_.primary_context_get_state(device, &flags, &active) == CUDA_SUCCESS &&
           active != 0;
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

std::optional<AddressRange> CudaDriver::allocation_at(std::uint64_t address) const noexcept {
    const RelaxedCapture relaxed(functions_.exchange_capture_mode);
    CUdeviceptr start = 0;
    std::size_t bytes = 0;
    if (!relaxed ||
        functions_.pointer_get_attribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address) !=
            CUDA_SUCCESS ||
        functions_.pointer_get_attribute(&bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE, address) !=
            CUDA_SUCCESS) {
        return std::nullopt;
    }
    return AddressRange{.start = start, .bytes = bytes};
}

std::optional<FreeMemory> CudaDriver::memory(int current_device) const noexcept {
    const RelaxedCapture relaxed(functions_.exchange_capture_mode);
    std::size_t free = 0;
    std::size_t total = 0;
    if (!relaxed || functions_.memory_get_info(&free, &total) != CUDA_SUCCESS) {
        return std::nullopt;
    }
    return FreeMemory{.device = current_device, .free = free, .total = total};
}

std::optional<ReservedMemory> CudaDriver::reserved_memory(int device) const noexcept {
    if (functions_.get_default_pool == nullptr || functions_.pool_get_attribute == nullptr ||
        functions_.get_graph_attribute == nullptr) {
        return std::nullopt;
    }
    const RelaxedCapture relaxed(functions_.exchange_capture_mode);
    CUmemoryPool pool = nullptr;
    cuuint64_t pool_reserved = 0;
    cuuint64_t pool_used = 0;
    cuuint64_t graphs = 0;
    if (!relaxed || functions_.get_default_pool(&pool, device) != CUDA_SUCCESS ||
        functions_.pool_get_attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &pool_reserved) !=
            CUDA_SUCCESS ||
        functions_.pool_get_attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &pool_used) !=
            CUDA_SUCCESS ||
        functions_.get_graph_attribute(device, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &graphs) !=
            CUDA_SUCCESS) {
        return std::nullopt;
    }
    return ReservedMemory{pool_reserved, pool_used, graphs};
}

std::optional<DeviceFacts> CudaDriver::facts(int device) const {
    std::array<char, 256> name{};
    std::array<char, 64> pci_id{};
    std::size_t total = 0;
    DeviceFacts facts;
    const RelaxedCapture relaxed(functions_.exchange_capture_mode);
    if (!relaxed ||
        functions_.device_get_name(name.data(), static_cast<int>(name.size()) - 1, device) !=
            CUDA_SUCCESS ||
        functions_.device_get_pci_bus_id(
            pci_id.data(), static_cast<int>(pci_id.size()) - 1, device) != CUDA_SUCCESS ||
        functions_.device_total_memory(&total, device) != CUDA_SUCCESS ||
        functions_.driver_get_version(&facts.driver_version) != CUDA_SUCCESS) {
        return std::nullopt;
    }
    CUuuid uuid{};
    if (functions_.device_get_uuid != nullptr &&
        functions_.device_get_uuid(&uuid, device) == CUDA_SUCCESS) {
        facts.uuid = uuid_text(std::begin(uuid.bytes));
    }
    facts.name = name.data();
    facts.pci_id = pci_id.data();
    facts.total = total;
    return facts;
}

}  // namespace cyclewatch::device
