// SPDX-License-Identifier: Apache-2.0
#include "device/device_memory.h"

#include <unistd.h>

#include <cstdlib>
#include <string_view>
#include <utility>

#include "device/cuda_driver.h"
#include "device/loaded_library.h"

namespace cyclewatch::device {

namespace {

const pid_t kLoadedIn = getpid();

bool devices_hidden() noexcept {
    const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
    return visible != nullptr && (*visible == '\0' || std::string_view(visible).starts_with("-1"));
}

DeviceQueries& process_queries() noexcept {
    // The instance is never destroyed, so that the driver stays loaded until the process ends.
    // Running out of memory here, which is possible only on the first call, terminates the process.
    static DeviceQueries& queries =
        *new DeviceQueries;  // NOLINT(bugprone-unhandled-exception-at-new)
    return queries;
}

}  // namespace

bool in_forked_child() noexcept {
    return getpid() != kLoadedIn;
}

DeviceQueries::DeviceQueries(std::string device_files) : device_files_(std::move(device_files)) {}

DeviceQueries::~DeviceQueries() = default;

const CudaDriver* DeviceQueries::find_driver() noexcept {
    if (in_forked_child()) {
        return nullptr;
    }
    const unsigned long long loaded = libraries_ever_loaded();
    if (!driver_ && loaded != libraries_seen_) {
        try {
            driver_ = CudaDriver::find();
            runtime_loaded_ = static_cast<bool>(LoadedLibrary::find("libcudart"));
            libraries_seen_ = loaded;
        } catch (...) {
            // Out of memory: the next call searches again.
        }
    }
    return driver_.get();
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
    return usable_;
}

std::optional<FreeMemory> DeviceQueries::current_device_memory() noexcept {
    const CudaDriver* const driver = find_driver();
    return driver == nullptr ? std::nullopt : driver->memory();
}

std::optional<PointerFacts> DeviceQueries::pointer_facts(std::uint64_t address) noexcept {
    const CudaDriver* const driver = find_driver();
    return driver == nullptr ? std::nullopt : driver->pointer_facts(address);
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

}  // namespace cyclewatch::device
