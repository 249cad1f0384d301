// SPDX-License-Identifier: Apache-2.0
// Reads counters of the memory in use in a training step, often enough for a chart and rarely
// enough for a step that takes microseconds.
//
// REQUIRES (everything here): GIL held. RUNS PYTHON: never; calls C functions of torch that read
// counters and do not call CUDA. Leaves no Python error and no new object.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "device/device_selection.h"

namespace cyclewatch::device {

struct StepCounters {
    std::string device;
    // CPU: resident, at most 0.1 s before the step; CUDA: reserved by torch's allocator.
    std::uint64_t in_use = 0;
    std::uint64_t allocated = 0;  // by torch's allocator; CPU: 0
    std::uint64_t peak = 0;       // the most that torch has allocated at one time; CPU: 0
};

class StepSampler {
  public:
    using Clock = std::chrono::steady_clock;

    // False as long as another sample would spend more than 0.2 % of the time on samples.
    [[nodiscard]] bool is_due(Clock::time_point now) const noexcept { return now >= due_; }
    // Call this after a sample, with the time at which it began.
    void pause_after(Clock::time_point began) noexcept;
    // The counters of the selected devices that the program uses. May throw std::bad_alloc.
    [[nodiscard]] std::vector<StepCounters> sample(const DeviceSelection& devices,
                                                   Clock::time_point now);

  private:
    void find_devices(const DeviceSelection& devices);
    [[nodiscard]] std::optional<std::uint64_t> resident(Clock::time_point now);

    Clock::time_point due_{};
    Clock::time_point resident_until_{};  // `resident_` is recent
    std::optional<std::uint64_t> resident_;
    bool reads_cpu_ = false;
    std::vector<int> cuda_;  // devices that torch has used
    std::uint64_t samples_ = 0;
};

}  // namespace cyclewatch::device
