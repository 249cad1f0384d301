// SPDX-License-Identifier: Apache-2.0
// What the memory in use on a device is used for: in full, or in each step as far as counters show
// it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/enum_words.h"
#include "model/retention.h"

namespace cyclewatch::model {

// One line of an account. The lines add up to the memory in use.
struct MemoryLine {
    std::string kind;        // "dead", "parameter", "cached" ...
    std::string use;         // "dead in 2 cycles (a collection frees them)"
    std::int64_t bytes = 0;  // negative for tensors that are not resident

    friend bool operator==(const MemoryLine&, const MemoryLine&) = default;
};

enum class AccountOccasion : std::uint8_t { request, out_of_memory, end };
inline constexpr std::array<std::string_view, 3> kAccountOccasionWords{
    "request", "out of memory", "end"};
constexpr Words words_of(AccountOccasion) {
    return kAccountOccasionWords;
}

// What cyclewatch.memory() has measured.
struct MemoryAccount {
    std::uint32_t process = 0;  // index into Report::processes
    std::string device;         // "cuda:0"
    AccountOccasion occasion = AccountOccasion::request;
    double at = 0;           // seconds since the watch started
    std::int64_t step = -1;  // training step at that time; -1 if the program set none
    std::uint64_t in_use = 0;
    std::uint64_t total = 0;  // capacity or limit; 0 if unknown
    std::string source;       // of `in_use`: "resident memory"
    std::uint64_t peak = 0;   // 0 if unknown
    std::string headline;     // the verdict: one sentence without a full stop
    std::vector<MemoryLine> lines;
    std::vector<std::string> signatures;  // of the findings for dead cycles
    std::vector<LiveOwner> holders;       // the largest first
    std::vector<std::string> notes;       // sentences on what was not examined

    friend bool operator==(const MemoryAccount&, const MemoryAccount&) = default;
};

// The size of the reachable owners on a device in a census, by OwnerCategory.
struct CategorySizes {
    std::int64_t step = -1;
    double at = 0;  // seconds since the watch started
    std::uint64_t parameter = 0;
    std::uint64_t gradient = 0;
    std::uint64_t optimizer_state = 0;
    std::uint64_t saved_for_backward = 0;
    std::uint64_t activation = 0;
    std::uint64_t other = 0;

    [[nodiscard]] std::uint64_t total() const noexcept {
        return parameter + gradient + optimizer_state + saved_for_backward + activation + other;
    }

    friend bool operator==(const CategorySizes&, const CategorySizes&) = default;
};

// The counters of a device in one step.
struct StepSample {
    std::uint64_t number = 0;  // of the sample
    std::int64_t step = 0;
    double at = 0;                // seconds since the watch started
    std::uint64_t in_use = 0;     // CPU: resident; CUDA: reserved by torch's allocator
    std::uint64_t allocated = 0;  // by torch's allocator; CPU: 0
    std::uint64_t peak = 0;       // the most that torch has allocated at one time; CPU: 0
    std::uint64_t dead = 0;       // found by scans and not freed yet
};

// The samples of a device in columns, and the censuses.
struct MemorySteps {
    std::uint32_t process = 0;  // index into Report::processes
    std::string device;
    std::vector<std::int64_t> steps;
    std::vector<double> times;
    std::vector<std::uint64_t> in_use;
    std::vector<std::uint64_t> allocated;
    std::optional<std::vector<std::uint64_t>> peak{};  // missing for the CPU
    std::vector<std::uint64_t> dead;
    std::vector<CategorySizes> censuses;

    friend bool operator==(const MemorySteps&, const MemorySteps&) = default;
};

// The memory in use on a device over time, as sampled in the background. A row covers the time to
// the next row.
struct MemorySamples {
    std::uint32_t process = 0;  // index into Report::processes
    std::string device;
    std::string source;         // what is counted: "resident memory"
    std::vector<double> times;  // seconds since the watch started
    std::vector<std::uint64_t> lowest;
    std::vector<std::uint64_t> highest;

    friend bool operator==(const MemorySamples&, const MemorySamples&) = default;
};

// Adds the size of a group of owners to its category.
void add_size(CategorySizes& sizes, const LiveOwner& owner);

[[nodiscard]] MemorySteps in_columns(std::string device,
                                     const std::vector<StepSample>& samples,
                                     std::vector<CategorySizes> censuses);
// The inverse; the numbers of the samples are their positions.
[[nodiscard]] std::vector<StepSample> samples_of(const MemorySteps& steps);

}  // namespace cyclewatch::model
