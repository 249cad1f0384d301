// SPDX-License-Identifier: Apache-2.0
#include "watch/device_descriptions.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/text.h"
#include "device/cuda_runtime.h"
#include "device/device_records.h"
#include "device/device_selection.h"

namespace cyclewatch::watch {
namespace {

// CUDA cannot be queried on a thread that has not used the device, so that a description may fail.
constexpr int kMaxAttempts = 20;

std::string name_of(int error) {
    const std::string_view name = device::runtime_error_name(error);
    return name.empty() ? "CUDA error " + std::to_string(error) : std::string(name);
}

}  // namespace

std::vector<DescriptionRequest> DeviceDescriptions::requests(
    const model::Observation& observation) {
    std::map<int, std::uint64_t> dead;
    for (const model::Storage& storage : observation.storages) {
        if (const std::optional<int> device = device::cuda_number(storage.device)) {
            dead[*device] += storage.released ? storage.bytes : 0;
        }
    }
    std::vector<DescriptionRequest> wanted;
    for (const auto& [index, bytes] : dead) {
        Device& device = devices_[index];
        if (device.record ? bytes <= device.dead : device.attempts >= kMaxAttempts) {
            continue;
        }
        device.dead = std::max(device.dead, bytes);
        DescriptionRequest& request = wanted.emplace_back();
        request.device = index;
        request.collection = observation.record.number;
        request.dead = bytes;
        for (const model::DeviceMemory& sample : observation.record.device_memory) {
            if (device::cuda_number(sample.device) == index) {
                request.sample = sample;
            }
        }
    }
    return wanted;
}

std::optional<model::DeviceRecord> DeviceDescriptions::describe(const DescriptionRequest& request) {
    Device& device = devices_[request.device];
    if (!device.record) {
        ++device.attempts;
        device.record = device::describe_device(device::process_queries(), request.device);
    }
    if (!device.record) {
        return std::nullopt;
    }
    const std::optional<model::MemoryBreakdown> memory =
        device::measure_device(device::process_queries(),
                               request.device,
                               request.dead,
                               request.sample ? &*request.sample : nullptr);
    if (memory && (!device.record->memory || memory->dead >= device.record->memory->dead)) {
        device.record->memory = memory;
        device.record->memory->collection = request.collection;
    }
    device.record->error = last_error_;
    return device.record;
}

std::vector<model::DeviceRecord> DeviceDescriptions::measure() {
    std::vector<model::DeviceRecord> records;
    for (auto& [index, device] : devices_) {
        if (!device.record) {
            continue;
        }
        device.record->memory_now =
            device::measure_device(device::process_queries(), index, 0, nullptr);
        records.push_back(*device.record);
    }
    return records;
}

std::string DeviceDescriptions::error_sentence(std::uint64_t collection, int error) {
    if (!reported_errors_.insert(error).second) {
        return {};
    }
    last_error_ = name_of(error);
    const std::string before = "before collection " + base::format_count(collection);
    return device::is_device_lost(error)
               ? "The device had failed (" + last_error_ + ") " + before + "."
               : "An error of an earlier CUDA call was pending (" + last_error_ + ") " + before +
                     ": the program has not handled it.";
}

}  // namespace cyclewatch::watch
