// SPDX-License-Identifier: Apache-2.0
#include "device/device_selection.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace cyclewatch::device {
namespace {

constexpr std::array<std::string_view, 10> kDeviceNames{
    "auto", "all", "cpu", "cuda", "xpu", "mps", "mtia", "hpu", "npu", "xla"};

std::string_view kind_of(std::string_view device) {
    return device.substr(0, device.find(':'));
}

// True for "auto", "all", "<kind>" and "<kind>:<digits>".
bool is_valid(std::string_view word) {
    const std::string_view kind = kind_of(word);
    if (std::ranges::find(kDeviceNames, kind) == kDeviceNames.end()) {
        return false;
    }
    if (kind == word) {
        return true;
    }
    const std::string_view index = word.substr(kind.size() + 1);
    return kind != "auto" && kind != "all" && !index.empty() &&
           std::ranges::all_of(index, [](char c) { return c >= '0' && c <= '9'; });
}

base::Error unknown_device(const std::string& word) {
    std::string message = "unknown device '" + word + "'; expected one of ";
    for (const std::string_view name : kDeviceNames) {
        message.append(name == kDeviceNames.front() ? "" : ", ").append(name);
    }
    return {message + "; names other than auto and all may have an index, such as cuda:1"};
}

}  // namespace

std::optional<int> cuda_number(std::string_view device) noexcept {
    constexpr std::string_view kPrefix = "cuda:";
    const char* const end = device.data() + device.size();
    int number = -1;
    if (!device.starts_with(kPrefix) ||
        std::from_chars(device.data() + kPrefix.size(), end, number).ptr != end || number < 0) {
        return std::nullopt;
    }
    return number;
}

base::Result<DeviceSelection> DeviceSelection::parse(const std::vector<std::string>& words) {
    if (words.empty()) {
        return base::Error{"devices is empty; name at least one device, or use \"auto\""};
    }
    for (const std::string& word : words) {
        if (!is_valid(word)) {
            return unknown_device(word);
        }
    }
    DeviceSelection selection;
    selection.words_ = words;
    return selection;
}

bool DeviceSelection::matches(std::string_view device, bool accelerator_usable) const {
    return std::ranges::any_of(words_, [&](const std::string& word) {
        if (word == "all") {
            return true;
        }
        if (word == "auto") {
            // Only the availability of CUDA is checked. Memory that is allocated on another
            // accelerator proves that the accelerator is available.
            return kind_of(device) == "cpu" ? !accelerator_usable : kind_of(device) != "meta";
        }
        // A tensor on "cpu:0" is on "cpu".
        return word == device || word == kind_of(device) ||
               (device == "cpu" && kind_of(word) == device);
    });
}

}  // namespace cyclewatch::device
