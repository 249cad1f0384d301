// SPDX-License-Identifier: Apache-2.0
#include "device/cuda_runtime.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace cyclewatch::device {

namespace {

// From CUDA 11 on the structure begins with the four fields that are read here. CUDA 13 added
// 64 reserved bytes at its end; what a still newer runtime adds must not reach our stack.
constexpr int kOldestRuntime = 11000;
constexpr std::size_t kAttributeBytes = std::max<std::size_t>(sizeof(cudaPointerAttributes), 256);
constexpr std::size_t kGuardBytes = 256;
constexpr unsigned char kGuard = 0xA5;

class AttributeBuffer {
  public:
    AttributeBuffer() noexcept {
        std::fill_n(bytes_.begin(), kAttributeBytes, std::byte{0});
        std::fill(bytes_.begin() + kAttributeBytes, bytes_.end(), std::byte{kGuard});
    }
    [[nodiscard]] cudaPointerAttributes* get() noexcept {
        return reinterpret_cast<cudaPointerAttributes*>(bytes_.data());
    }
    // False if the runtime wrote more than any structure we know: then nothing in it is trusted.
    [[nodiscard]] bool intact() const noexcept {
        return std::all_of(bytes_.begin() + kAttributeBytes, bytes_.end(), [](std::byte byte) {
            return byte == std::byte{kGuard};
        });
    }

  private:
    alignas(cudaPointerAttributes) std::array<std::byte, kAttributeBytes + kGuardBytes> bytes_;
};

MemoryKind kind_of(cudaMemoryType type) noexcept {
    switch (type) {
        case cudaMemoryTypeHost:
            return MemoryKind::host;
        case cudaMemoryTypeDevice:
            return MemoryKind::device;
        case cudaMemoryTypeManaged:
            return MemoryKind::managed;
        default:
            return MemoryKind::unregistered;
    }
}

}  // namespace

CudaRuntime::CudaRuntime(LoadedLibrary library, const Functions& functions) noexcept
    : library_(std::move(library)), functions_(functions) {}

std::optional<CudaRuntime> CudaRuntime::find() {
    LoadedLibrary library = LoadedLibrary::find("libcudart");
    if (!library) {
        return std::nullopt;
    }
    Functions found{};
    const bool complete =
        library.take(found.pointer_get_attributes, "cudaPointerGetAttributes") &&
        library.take(found.memory_get_info, "cudaMemGetInfo") &&
        library.take(found.get_device_count, "cudaGetDeviceCount") &&
        library.take(found.get_last_error, "cudaGetLastError") &&
        library.take(found.peek_at_last_error, "cudaPeekAtLastError") &&
        library.take(found.exchange_capture_mode, "cudaThreadExchangeStreamCaptureMode") &&
        library.take(found.runtime_get_version, "cudaRuntimeGetVersion");
    // The version is a constant of the library: asking for it initialises nothing.
    int version = 0;
    if (!complete || found.runtime_get_version(&version) != cudaSuccess ||
        version < kOldestRuntime) {
        return std::nullopt;
    }
    return CudaRuntime(std::move(library), found);
}

template <typename Question>
bool CudaRuntime::ask(Question&& question) const noexcept {
    if (functions_.peek_at_last_error() != cudaSuccess) {
        return false;  // the program has yet to see that error; ours could take its place
    }
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    cudaError_t error = functions_.exchange_capture_mode(&mode);
    if (error == cudaSuccess) {
        error = question();
        const cudaError_t restored = functions_.exchange_capture_mode(&mode);
        error = error == cudaSuccess ? restored : error;
    }
    if (error != cudaSuccess) {
        functions_.get_last_error();
    }
    return error == cudaSuccess;
}

std::optional<int> CudaRuntime::device_count() const noexcept {
    int count = 0;
    if (!ask([&] { return functions_.get_device_count(&count); })) {
        return std::nullopt;
    }
    return count;
}

std::optional<PointerFacts> CudaRuntime::pointer_facts(std::uint64_t address) const noexcept {
    AttributeBuffer buffer;
    const auto* pointer = reinterpret_cast<const void*>(static_cast<std::uintptr_t>(address));
    const bool answered =
        ask([&] { return functions_.pointer_get_attributes(buffer.get(), pointer); });
    if (!answered || !buffer.intact()) {
        return std::nullopt;
    }
    const cudaPointerAttributes& attributes = *buffer.get();
    return PointerFacts{.kind = kind_of(attributes.type), .device = attributes.device};
}

std::optional<FreeMemory> CudaRuntime::memory(int device) const noexcept {
    std::size_t free = 0;
    std::size_t total = 0;
    if (!ask([&] { return functions_.memory_get_info(&free, &total); })) {
        return std::nullopt;
    }
    return FreeMemory{.device = device, .free = free, .total = total};
}

}  // namespace cyclewatch::device
