// SPDX-License-Identifier: Apache-2.0
// What the process can say about its accelerators, from whichever CUDA library is loaded.
//
// REQUIRES: GIL held. RUNS PYTHON: never. Loads no library, creates no context, leaves no error,
// breaks no stream capture; in a forked child it asks nothing at all.
#pragma once

#include <cstdint>
#include <optional>

namespace cyclewatch::device {

// A moment's memory of the current device, in bytes.
struct DeviceMemory {
    int device = 0;
    std::uint64_t free = 0;
    std::uint64_t total = 0;
};

// True once a loaded CUDA runtime or driver counts at least one device. Asked inside collections:
// a "yes" is final, a "no" is asked again only where the process has loaded libraries since.
[[nodiscard]] bool accelerator_usable() noexcept;

// Memory of the current device; nothing where no context exists, or nothing may be asked now.
[[nodiscard]] std::optional<DeviceMemory> current_device_memory() noexcept;

}  // namespace cyclewatch::device
