// SPDX-License-Identifier: Apache-2.0
// The time that the collections of a process took, by training step.
#pragma once

#include <cstdint>
#include <vector>

namespace cyclewatch::model {

// The steps of one process, in columns: an entry for each step in which a collection ran.
struct CollectionSteps {
    std::uint32_t process = 0;  // index into Report::processes
    std::int64_t first_step = 0;
    std::int64_t last_step = 0;
    double elapsed = 0;       // seconds from the start of the first step to that of the last
    std::uint64_t every = 1;  // a power of two; see is_in_sample()
    double shorter_than = 0;  // steps with shorter collections are left out; 0: none
    std::vector<std::int64_t> steps;  // ascending
    std::vector<double> seconds;      // of all collections in the step
    std::vector<std::uint64_t> freed_bytes;

    friend bool operator==(const CollectionSteps&, const CollectionSteps&) = default;
};

// True if the step is in a sample of one in `every` steps. The sample is the same on all ranks,
// contains the samples with a larger `every`, and does not depend on the divisors of the number, so
// that it does not contain all or none of the steps at which a program collects.
[[nodiscard]] constexpr bool is_in_sample(std::int64_t step, std::uint64_t every) noexcept {
    auto bits = static_cast<std::uint64_t>(step) + 0x9e3779b97f4a7c15U;  // SplitMix64
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9U;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebU;
    return ((bits ^ (bits >> 31)) & (every - 1)) == 0;
}

}  // namespace cyclewatch::model
