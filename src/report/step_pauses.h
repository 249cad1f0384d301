// SPDX-License-Identifier: Apache-2.0
// A bounded sample of the time that collections took in the steps of a process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "model/collection_steps.h"

namespace cyclewatch::report {

inline constexpr std::size_t kMaxPauses = 1000;  // of one process

class StepPauses {
  public:
    // `at`: seconds. If the number is lower than the last one by more than 1, the program counts
    // from the start again, and the earlier steps are forgotten. (By 1: two callers that count
    // differently.)
    void begin_step(std::int64_t step, double at);
    // Adds a collection in the current step. Ignored before the first step.
    void add(double seconds, std::uint64_t freed_bytes);
    // Without an entry if there were fewer than two steps.
    [[nodiscard]] std::vector<model::CollectionSteps> columns() const;

  private:
    struct Pause {
        double seconds = 0;
        std::uint64_t freed_bytes = 0;
    };

    bool has_steps_ = false;
    model::CollectionSteps known_;  // without columns
    double first_at_ = 0;
    std::int64_t step_ = 0;  // the current one
    std::map<std::int64_t, Pause> pauses_;
};

// Shortens the columns of several processes in the same way, until each has at most `limit`
// entries. First leaves out the steps that took less than a hundredth of the longest; if that is
// not enough, halves the sample of steps.
void thin(std::span<model::CollectionSteps> processes, std::size_t limit);

}  // namespace cyclewatch::report
