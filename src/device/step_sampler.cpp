// SPDX-License-Identifier: Apache-2.0
#include "device/step_sampler.h"

#include <chrono>
#include <optional>

#include "device/device_memory.h"
#include "device/device_records.h"
#include "device/memory_sampler.h"

namespace cyclewatch::device {
namespace {

constexpr int kPause = 500;  // times the duration of a sample
// The devices in use are looked up again after this many samples. The program may begin to use
// another device, but asking torch for each device would take longer than the sample.
constexpr std::uint64_t kSamplesPerSearch = 256;
constexpr int kMostDevices = 16;
// Reading the resident memory takes three system calls; everything else in a step takes none.
constexpr std::chrono::milliseconds kResidentPause{100};

}  // namespace

void StepSampler::find_devices(const DeviceSelection& devices) {
    reads_cpu_ = devices.matches("cpu", accelerator_usable());
    cuda_.clear();
    for (int device = 0; device < kMostDevices && !in_forked_child(); ++device) {
        if (devices.matches("cuda:" + std::to_string(device), true)) {
            const std::optional<TorchMemory> memory = torch_memory(device);
            if (!memory) {
                break;  // torch has no such device, or has not initialized CUDA
            }
            if (memory->reserved > 0) {
                cuda_.push_back(device);
            }
        }
    }
}

std::optional<std::uint64_t> StepSampler::resident(Clock::time_point now) {
    if (now >= resident_until_) {
        resident_ = resident_bytes();
        resident_until_ = now + kResidentPause;
    }
    return resident_;
}

std::vector<StepCounters> StepSampler::sample(const DeviceSelection& devices,
                                              Clock::time_point now) {
    if (samples_++ % kSamplesPerSearch == 0 || (cuda_.empty() && !reads_cpu_)) {
        find_devices(devices);
    }
    std::vector<StepCounters> counters;
    if (reads_cpu_) {
        if (const std::optional<std::uint64_t> bytes = resident(now)) {
            counters.push_back({.device = "cpu", .in_use = *bytes});
        }
    }
    for (const int device : cuda_) {
        if (const std::optional<TorchMemory> memory = torch_memory(device)) {
            counters.push_back({.device = "cuda:" + std::to_string(device),
                                .in_use = memory->reserved,
                                .allocated = memory->allocated,
                                .peak = memory->peak});
        }
    }
    return counters;
}

void StepSampler::pause_after(Clock::time_point began) noexcept {
    const Clock::time_point ended = Clock::now();
    due_ = ended + kPause * (ended - began);
}

}  // namespace cyclewatch::device
