// SPDX-License-Identifier: Apache-2.0
#include "device/device_memory.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "device/cuda_driver.h"
#include "device/cuda_runtime.h"
#include "device/loaded_library.h"

namespace cyclewatch::device {

namespace {

std::atomic<bool> was_usable{false};

const pid_t kLoadedIn = getpid();

bool devices_hidden() noexcept {
    const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
    return visible != nullptr && (*visible == '\0' || std::string_view(visible).starts_with("-1"));
}

}  // namespace

DeviceQueries& process_queries() noexcept {
    // The instance is never destroyed, so that the driver stays loaded until the process ends.
    // Running out of memory here, which is possible only on the first call, terminates the process.
    static DeviceQueries& queries =
        *new DeviceQueries;  // NOLINT(bugprone-unhandled-exception-at-new)
    return queries;
}

bool in_forked_child() noexcept {
    return getpid() != kLoadedIn;
}

std::string uuid_text(const char* bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    for (int i = 0; i < 16; ++i) {
        const auto byte = static_cast<unsigned char>(bytes[i]);
        text += i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "";
        text += kDigits[byte >> 4U];
        text += kDigits[byte & 15U];
    }
    return text;
}

DeviceQueries::DeviceQueries(std::string device_files) : device_files_(std::move(device_files)) {}

DeviceQueries::~DeviceQueries() = default;

// Once found, the driver is kept. Another copy of the runtime is used once torch has loaded it.
void DeviceQueries::find_libraries() {
    if (!driver_) {
        driver_ = CudaDriver::find();
    }
    if (!driver_) {
        // The runtime is not called, because a call would load the driver.
        runtime_loaded_ = static_cast<bool>(LoadedLibrary::find("libcudart"));
        return;
    }
    if (!runtime_ || !runtime_->used_by_torch()) {
        std::unique_ptr<CudaRuntime> found = CudaRuntime::find();
        if (found && (!runtime_ || found->used_by_torch())) {
            replaced_runtime_ = std::exchange(runtime_, std::move(found));
        }
    }
}

const CudaDriver* DeviceQueries::find_driver() noexcept {
    if (in_forked_child()) {
        return nullptr;
    }
    const unsigned long long loaded = libraries_ever_loaded();
    if (loaded != libraries_seen_) {
        try {
            find_libraries();
            libraries_seen_ = loaded;
        } catch (...) {
            // Out of memory: the next call searches again.
        }
    }
    return driver_.get();
}

// None of the calls before pending_error() initializes or creates anything. The runtime is called
// only if its driver is loaded and initialized, and the context that the runtime would create
// exists.
DeviceQueries::Target DeviceQueries::find_target() noexcept {
    Target target;
    const CudaDriver* const driver = find_driver();
    const std::optional<int> device = driver == nullptr ? std::nullopt : driver->current_device();
    if (!device) {
        return target;
    }
    target.driver = driver;
    target.device = *device;
    if (!runtime_ || !driver->primary_context_active(*device)) {
        return target;
    }
    target.pending_error = runtime_->pending_error();
    if (target.pending_error == 0) {
        target.runtime = runtime_.get();
    }
    return target;
}

bool DeviceQueries::system_shows_a_device() noexcept {
    if (!system_shows_) {
        try {
            // If a container has access to only some devices, device 0 may be missing.
            bool shows = access((device_files_ + "/dxg").c_str(), F_OK) == 0;
            for (int number = 0; number < 16 && !shows; ++number) {
                const std::string file = device_files_ + "/nvidia" + std::to_string(number);
                shows = access(file.c_str(), F_OK) == 0;
            }
            system_shows_ = shows && !devices_hidden();
        } catch (...) {
            return false;
        }
    }
    return *system_shows_;
}

bool DeviceQueries::accelerator_usable() noexcept {
    if (in_forked_child()) {
        return false;
    }
    if (usable_) {
        return true;
    }
    const CudaDriver* const driver = find_driver();
    if (driver == nullptr && !runtime_loaded_) {
        return false;
    }
    const std::optional<int> count = driver != nullptr ? driver->device_count() : std::nullopt;
    if (!count) {
        return system_shows_a_device();
    }
    usable_ = *count > 0;
    if (usable_) {
        was_usable.store(true, std::memory_order_relaxed);
    }
    return usable_;
}

std::optional<FreeMemory> DeviceQueries::current_device_memory() noexcept {
    const Target target = find_target();
    return target.runtime != nullptr  ? target.runtime->memory(target.device)
           : target.driver != nullptr ? target.driver->memory(target.device)
                                      : std::nullopt;
}

std::optional<PointerFacts> DeviceQueries::pointer_facts(std::uint64_t address) noexcept {
    const Target target = find_target();
    return target.runtime != nullptr  ? target.runtime->pointer_facts(address)
           : target.driver != nullptr ? target.driver->pointer_facts(address)
                                      : std::nullopt;
}

std::optional<AddressRange> DeviceQueries::allocation_at(std::uint64_t address) noexcept {
    const CudaDriver* const driver = find_target().driver;  // the runtime has no such function
    return driver == nullptr ? std::nullopt : driver->allocation_at(address);
}

std::optional<ReservedMemory> DeviceQueries::reserved_memory(int device) noexcept {
    const Target target = find_target();
    if (target.driver == nullptr || !target.driver->primary_context_active(device)) {
        return std::nullopt;
    }
    return target.runtime != nullptr ? target.runtime->reserved_memory(device)
                                     : target.driver->reserved_memory(device);
}

std::optional<DeviceFacts> DeviceQueries::device_facts(int device) noexcept {
    const Target target = find_target();
    if (target.driver == nullptr ||
        (device != target.device && !target.driver->primary_context_active(device))) {
        return std::nullopt;
    }
    try {
        return target.runtime != nullptr ? target.runtime->facts(device)
                                         : target.driver->facts(device);
    } catch (...) {
        return std::nullopt;  // out of memory
    }
}

int DeviceQueries::pending_error() noexcept {
    return find_target().pending_error;
}

Responder DeviceQueries::responder() noexcept {
    const Target target = find_target();
    return target.runtime != nullptr  ? Responder::runtime
           : target.driver != nullptr ? Responder::driver
                                      : Responder::none;
}

bool accelerator_was_usable() noexcept {
    return was_usable.load(std::memory_order_relaxed);
}

bool accelerator_usable() noexcept {
    return process_queries().accelerator_usable();
}

std::optional<FreeMemory> current_device_memory() noexcept {
    return process_queries().current_device_memory();
}

std::optional<PointerFacts> pointer_facts(std::uint64_t address) noexcept {
    return process_queries().pointer_facts(address);
}

int pending_error() noexcept {
    return process_queries().pending_error();
}

}  // namespace cyclewatch::device
