// SPDX-License-Identifier: Apache-2.0
#include "device/device_memory.h"

namespace cyclewatch::device {

bool accelerator_usable() noexcept {
    return false;
}

std::optional<DeviceMemory> current_device_memory() noexcept {
    return std::nullopt;
}

}  // namespace cyclewatch::device
