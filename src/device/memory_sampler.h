// SPDX-License-Identifier: Apache-2.0
// How much memory of a device is in use, asked around a collection: what a report draws over time.
//
// REQUIRES (everything here): GIL held. RUNS PYTHON: never; one C function of torch at most.
// PROMISES: as device_memory.h; leaves no Python error, and no object behind.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "device/device_memory.h"
#include "model/observation.h"

namespace cyclewatch::device {

class MemorySampler {
  public:
    // Another function stands in for CUDA in tests.
    using AskFree = std::optional<FreeMemory> (*)() noexcept;
    explicit MemorySampler(AskFree ask_free = &current_device_memory) noexcept
        : ask_free_(ask_free) {}

    // Before the sweep: a sample for each device of `storages` whose memory somebody can tell.
    // May throw std::bad_alloc.
    [[nodiscard]] std::vector<model::DeviceMemory> before(std::span<const model::Storage> storages);

    // After it: completes the samples. Drops those that the same source cannot tell any more.
    void after(std::vector<model::DeviceMemory>& samples) noexcept;

  private:
    struct InUse;

    [[nodiscard]] std::optional<InUse> in_use(std::string_view device) noexcept;
    [[nodiscard]] std::optional<InUse> in_use_of_cuda(int device) noexcept;

    AskFree ask_free_;
    // Sizes of CUDA devices, which do not change: asked for until somebody knows; 0: not known.
    std::array<std::uint64_t, 64> totals_{};
};

}  // namespace cyclewatch::device
