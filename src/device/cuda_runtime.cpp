// SPDX-License-Identifier: Apache-2.0
#include "device/cuda_runtime.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace cyclewatch::device {

namespace {

struct ErrorName {
    int error;
    std::string_view name;
    bool device_lost;
};

// cudaGetErrorName() is not used, because the driver's queries need the names as well.
constexpr std::array kErrorNames{
    ErrorName{cudaErrorInvalidValue, "cudaErrorInvalidValue", false},
    ErrorName{cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", false},
    ErrorName{cudaErrorInitializationError, "cudaErrorInitializationError", false},
    ErrorName{cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration", false},
    ErrorName{cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver", false},
    ErrorName{cudaErrorDevicesUnavailable, "cudaErrorDevicesUnavailable", false},
    ErrorName{cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", false},
    ErrorName{cudaErrorNoDevice, "cudaErrorNoDevice", false},
    ErrorName{cudaErrorInvalidDevice, "cudaErrorInvalidDevice", false},
    ErrorName{cudaErrorDeviceUninitialized, "cudaErrorDeviceUninitialized", false},
    ErrorName{cudaErrorNoKernelImageForDevice, "cudaErrorNoKernelImageForDevice", false},
    ErrorName{cudaErrorECCUncorrectable, "cudaErrorECCUncorrectable", true},
    ErrorName{cudaErrorNvlinkUncorrectable, "cudaErrorNvlinkUncorrectable", true},
    ErrorName{cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", false},
    ErrorName{cudaErrorIllegalAddress, "cudaErrorIllegalAddress", true},
    ErrorName{cudaErrorLaunchOutOfResources, "cudaErrorLaunchOutOfResources", false},
    ErrorName{cudaErrorLaunchTimeout, "cudaErrorLaunchTimeout", true},
    ErrorName{cudaErrorContextIsDestroyed, "cudaErrorContextIsDestroyed", false},
    ErrorName{cudaErrorAssert, "cudaErrorAssert", true},
    ErrorName{cudaErrorHardwareStackError, "cudaErrorHardwareStackError", true},
    ErrorName{cudaErrorIllegalInstruction, "cudaErrorIllegalInstruction", true},
    ErrorName{cudaErrorMisalignedAddress, "cudaErrorMisalignedAddress", true},
    ErrorName{cudaErrorInvalidAddressSpace, "cudaErrorInvalidAddressSpace", true},
    ErrorName{cudaErrorInvalidPc, "cudaErrorInvalidPc", true},
    ErrorName{cudaErrorLaunchFailure, "cudaErrorLaunchFailure", true},
    ErrorName{cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported", false},
    ErrorName{cudaErrorStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated", false},
    ErrorName{cudaErrorUnknown, "cudaErrorUnknown", true},
};

const ErrorName* find_error(int error) noexcept {
    const auto* found = std::ranges::find(kErrorNames, error, &ErrorName::error);
    return found == kErrorNames.end() ? nullptr : found;
}

// A structure that a runtime of another version fills. Later versions have appended fields, so that
// the runtime may write more bytes than our headers declare, but not past `kRoom`.
template <typename Structure, std::size_t kRoom>
class ForeignStructure {
  public:
    ForeignStructure() noexcept {
        bytes_.fill(std::byte{0});
        std::fill(bytes_.begin() + kSize, bytes_.end(), kGuard);
    }
    [[nodiscard]] Structure* get() noexcept { return reinterpret_cast<Structure*>(bytes_.data()); }
    // False if the structure is larger than any version known to us, so that its layout is unknown.
    [[nodiscard]] bool is_intact() const noexcept {
        return std::all_of(
            bytes_.begin() + kSize, bytes_.end(), [](std::byte byte) { return byte == kGuard; });
    }

  private:
    static constexpr std::size_t kSize = std::max(sizeof(Structure), kRoom);
    static constexpr std::byte kGuard{0xA5};
    alignas(Structure) std::array<std::byte, kSize + 256> bytes_;
};

// The fields read here have had the same offsets since CUDA 11.
using Attributes = ForeignStructure<cudaPointerAttributes, 256>;
using Properties = ForeignStructure<cudaDeviceProp, 4096>;

MemoryKind kind_of(cudaMemoryType type) noexcept {
    switch (type) {
        case cudaMemoryTypeHost:
            return MemoryKind::host;
        case cudaMemoryTypeDevice:
        case cudaMemoryTypeManaged:
            return MemoryKind::device;
        default:
            return MemoryKind::unregistered;
    }
}

cudaError_t first_error(cudaError_t first, cudaError_t second) noexcept {
    return first != cudaSuccess ? first : second;
}

}  // namespace

std::string_view runtime_error_name(int error) noexcept {
    const ErrorName* const found = find_error(error);
    return found == nullptr ? std::string_view() : found->name;
}

bool is_device_lost(int error) noexcept {
    const ErrorName* const found = find_error(error);
    return found != nullptr && found->device_lost;
}

CudaRuntime::CudaRuntime(LoadedLibrary library,
                         const Functions& functions,
                         bool used_by_torch) noexcept
    : library_(std::move(library)), functions_(functions), used_by_torch_(used_by_torch) {}

std::unique_ptr<CudaRuntime> CudaRuntime::in(LoadedLibrary library, bool used_by_torch) {
    Functions found{};
    // In CUDA 12, the header renames cudaGetDeviceProperties() to a version that fills a larger
    // structure. The symbol without suffix is in all versions.
    const bool complete =
        library.take_all({{"cudaPeekAtLastError", found.peek_at_last_error},
                          {"cudaGetLastError", found.get_last_error},
                          {"cudaThreadExchangeStreamCaptureMode", found.exchange_capture_mode},
                          {"cudaMemGetInfo", found.memory_get_info},
                          {"cudaPointerGetAttributes", found.pointer_get_attributes},
                          {"cudaGetDeviceProperties", found.get_device_properties},
                          {"cudaDeviceGetPCIBusId", found.get_pci_bus_id},
                          {"cudaRuntimeGetVersion", found.runtime_get_version},
                          {"cudaDriverGetVersion", found.driver_get_version},
                          {"cudaDeviceGetDefaultMemPool", found.get_default_pool},
                          {"cudaMemPoolGetAttribute", found.pool_get_attribute},
                          {"cudaDeviceGetGraphMemAttribute", found.get_graph_attribute}});
    return complete ? std::unique_ptr<CudaRuntime>(
                          new CudaRuntime(std::move(library), found, used_by_torch))
                    : nullptr;
}

std::unique_ptr<CudaRuntime> CudaRuntime::find() {
    // A lookup in the handle of torch's library also searches the libraries that it depends on, and
    // so finds the copy that torch uses.
    std::unique_ptr<CudaRuntime> found;
    if (LoadedLibrary torch = LoadedLibrary::find("libc10_cuda")) {
        found = in(std::move(torch), true);
    }
    for (LoadedLibrary& library : LoadedLibrary::find_all("libcudart")) {
        if (found == nullptr) {
            found = in(std::move(library), false);
        }
    }
    return found;
}

int CudaRuntime::pending_error() const noexcept {
    return functions_.peek_at_last_error();
}

template <typename Query>
bool CudaRuntime::ask(Query&& query) const noexcept {
    // In the other modes, a query that CUDA considers unsafe invalidates a capture in progress.
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    cudaError_t error = functions_.exchange_capture_mode(&mode);
    if (error == cudaSuccess) {
        error = query();
        error = first_error(error, functions_.exchange_capture_mode(&mode));
    }
    if (error != cudaSuccess) {
        functions_.get_last_error();
    }
    return error == cudaSuccess;
}

std::optional<PointerFacts> CudaRuntime::pointer_facts(std::uint64_t address) const noexcept {
    Attributes attributes;
    const auto* const pointer = reinterpret_cast<const void*>(static_cast<std::uintptr_t>(address));
    const bool answered =
        ask([&] { return functions_.pointer_get_attributes(attributes.get(), pointer); });
    if (!answered || !attributes.is_intact()) {
        return std::nullopt;
    }
    return PointerFacts{.kind = kind_of(attributes.get()->type),
                        .device = attributes.get()->device};
}

std::optional<FreeMemory> CudaRuntime::memory(int device) const noexcept {
    std::size_t free = 0;
    std::size_t total = 0;
    if (!ask([&] { return functions_.memory_get_info(&free, &total); })) {
        return std::nullopt;
    }
    return FreeMemory{.device = device, .free = free, .total = total};
}

std::optional<ReservedMemory> CudaRuntime::reserved_memory(int device) const noexcept {
    cudaMemPool_t pool = nullptr;
    unsigned long long pool_reserved = 0;
    unsigned long long pool_used = 0;
    unsigned long long graphs = 0;
    const auto pool_attribute = [&](cudaMemPoolAttr attribute, unsigned long long& value) {
        return functions_.pool_get_attribute(pool, attribute, &value);
    };
    const bool answered = ask([&] {
        cudaError_t error = functions_.get_default_pool(&pool, device);
        if (error == cudaSuccess) {
            error = pool_attribute(cudaMemPoolAttrReservedMemCurrent, pool_reserved);
        }
        if (error == cudaSuccess) {
            error = pool_attribute(cudaMemPoolAttrUsedMemCurrent, pool_used);
        }
        return first_error(
            error,
            functions_.get_graph_attribute(device, cudaGraphMemAttrReservedMemCurrent, &graphs));
    });
    return answered ? std::optional(ReservedMemory{pool_reserved, pool_used, graphs})
                    : std::nullopt;
}

std::optional<DeviceFacts> CudaRuntime::facts(int device) const {
    Properties properties;
    std::array<char, 64> pci_id{};
    DeviceFacts facts;
    const bool answered = ask([&] {
        cudaError_t error = functions_.get_device_properties(properties.get(), device);
        error = first_error(
            error,
            functions_.get_pci_bus_id(pci_id.data(), static_cast<int>(pci_id.size()) - 1, device));
        error = first_error(error, functions_.runtime_get_version(&facts.runtime_version));
        return first_error(error, functions_.driver_get_version(&facts.driver_version));
    });
    if (!answered || !properties.is_intact()) {
        return std::nullopt;
    }
    const cudaDeviceProp& known = *properties.get();
    facts.name.assign(std::begin(known.name), strnlen(std::begin(known.name), sizeof known.name));
    facts.uuid = uuid_text(std::begin(known.uuid.bytes));
    facts.pci_id = pci_id.data();
    facts.total = known.totalGlobalMem;
    return facts;
}

}  // namespace cyclewatch::device
