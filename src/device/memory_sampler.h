// SPDX-License-Identifier: Apache-2.0
// Samples the memory in use on a device before and after a collection. Reports plot the samples
// over time.
//
// REQUIRES (everything here): GIL held. RUNS PYTHON: never; calls at most one C function of torch.
// PROMISES: the same as device_memory.h. Leaves no Python error and no new object.
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

// The resident set size of this process; nullopt if unknown.
[[nodiscard]] std::optional<std::uint64_t> resident_bytes() noexcept;

class MemorySampler {
  public:
    using AskFree = std::optional<FreeMemory> (*)() noexcept;
    // Tests pass a fake `ask_free`.
    explicit MemorySampler(AskFree ask_free = &current_device_memory) noexcept
        : ask_free_(ask_free) {}

    // Call this before the collector frees any objects. Returns one sample for each device that
    // contains one of the `storages`, except devices whose memory use is unknown. May throw
    // std::bad_alloc.
    [[nodiscard]] std::vector<model::DeviceMemory> before(std::span<const model::Storage> storages);

    // Call this after the collector has freed the objects. Completes the samples. Drops a sample
    // whose source is no longer available.
    void after(std::vector<model::DeviceMemory>& samples) noexcept;

  private:
    struct InUse;

    [[nodiscard]] std::optional<InUse> in_use(std::string_view device) noexcept;
    [[nodiscard]] std::optional<InUse> in_use_of_cuda(int device) noexcept;

    AskFree ask_free_;
    std::array<std::uint64_t, 64> totals_{};  // by CUDA device; constant once known, 0 until then
};

}  // namespace cyclewatch::device
