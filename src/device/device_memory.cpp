// SPDX-License-Identifier: Apache-2.0
#include "device/device_memory.h"

#include <unistd.h>

#include <cstdlib>
#include <string_view>
#include <utility>

#include "device/cuda_driver.h"
#include "device/cuda_runtime.h"
#include "device/loaded_library.h"

namespace cyclewatch::device {

namespace {

// A child inherits CUDA's state in memory and nothing of the device behind it.
const pid_t kLoadedIn = getpid();

bool devices_hidden() noexcept {
    const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
    return visible != nullptr && (*visible == '\0' || std::string_view(visible).starts_with("-1"));
}

// Never destroyed: it holds libraries that others may have unloaded by the time of exit.
DeviceQueries* process_queries() noexcept {
    static DeviceQueries* const queries = [] {
        try {
            return new DeviceQueries();
        } catch (...) {
            return static_cast<DeviceQueries*>(nullptr);
        }
    }();
    return queries;
}

}  // namespace

bool in_forked_child() noexcept {
    return getpid() != kLoadedIn;
}

struct DeviceQueries::Libraries {
    std::optional<CudaDriver> driver;
    std::optional<CudaRuntime> runtime;

    // Asks whichever library may be asked on this thread now: the runtime in its own primary
    // context, the driver in any other, nobody without one.
    template <typename Question>
    auto ask(Question&& question) const noexcept -> decltype(question(*driver, 0)) {
        const CudaDriver::Context context = driver ? driver->context() : CudaDriver::Context{};
        if (!context.current) {
            return std::nullopt;
        }
        if (runtime && context.primary_active) {
            return question(*runtime, context.device);
        }
        return question(*driver, context.device);
    }

    // The driver answers this without a context, and says so if CUDA is not initialised.
    [[nodiscard]] std::optional<int> device_count() const noexcept {
        std::optional<int> count = driver ? driver->device_count() : std::nullopt;
        if (!count && runtime && driver && driver->context().primary_active) {
            count = runtime->device_count();
        }
        return count;
    }
};

DeviceQueries::DeviceQueries(std::string device_files)
    : device_files_(std::move(device_files)), libraries_(std::make_unique<Libraries>()) {}

DeviceQueries::~DeviceQueries() = default;

void DeviceQueries::look_for_libraries() noexcept {
    const unsigned long long loaded = libraries_ever_loaded();
    if (loaded == looked_at_) {
        return;
    }
    try {
        if (!libraries_->driver) {
            libraries_->driver = CudaDriver::find();
        }
        if (!libraries_->runtime) {
            libraries_->runtime = CudaRuntime::find();
        }
        looked_at_ = loaded;
    } catch (...) {
        // Out of memory: what was found stands, the next call looks again.
    }
}

bool DeviceQueries::system_shows_a_device() noexcept {
    if (!system_shows_) {
        try {
            // Numbers may start above 0 in a container that was given some of many devices.
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
    look_for_libraries();
    if (!libraries_->driver && !libraries_->runtime) {
        return false;
    }
    const std::optional<int> count = libraries_->device_count();
    if (!count) {
        return system_shows_a_device();
    }
    usable_ = *count > 0;
    return usable_;
}

std::optional<FreeMemory> DeviceQueries::current_device_memory() noexcept {
    if (in_forked_child()) {
        return std::nullopt;
    }
    look_for_libraries();
    return libraries_->ask([](const auto& library, int device) { return library.memory(device); });
}

std::optional<PointerFacts> DeviceQueries::pointer_facts(std::uint64_t address) noexcept {
    if (in_forked_child()) {
        return std::nullopt;
    }
    look_for_libraries();
    return libraries_->ask(
        [address](const auto& library, int) { return library.pointer_facts(address); });
}

bool accelerator_usable() noexcept {
    DeviceQueries* queries = process_queries();
    return queries != nullptr && queries->accelerator_usable();
}

std::optional<FreeMemory> current_device_memory() noexcept {
    DeviceQueries* queries = process_queries();
    return queries == nullptr ? std::nullopt : queries->current_device_memory();
}

std::optional<PointerFacts> pointer_facts(std::uint64_t address) noexcept {
    DeviceQueries* queries = process_queries();
    return queries == nullptr ? std::nullopt : queries->pointer_facts(address);
}

}  // namespace cyclewatch::device
