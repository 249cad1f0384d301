// SPDX-License-Identifier: Apache-2.0
#include "render/alignment.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "base/text.h"

namespace cyclewatch::render {
namespace {

// Below this share of a step, no change is worth it.
constexpr double kNegligible = 0.001;
// Aligned collections differ in duration between ranks, so they do not reach the estimate exactly.
constexpr double kAlignedEnough = 1.25;

struct CommonSteps {
    std::int64_t first = 0;
    std::int64_t last = 0;
    std::uint64_t every = 1;
};

CommonSteps common_steps(std::span<const model::CollectionSteps> processes) {
    CommonSteps common{.first = processes.front().first_step, .last = processes.front().last_step};
    for (const model::CollectionSteps& each : processes) {
        common.first = std::max(common.first, each.first_step);
        common.last = std::min(common.last, each.last_step);
        common.every = std::max(common.every, each.every);
    }
    return common;
}

double number_of_steps(std::int64_t first, std::int64_t last) {
    return static_cast<double>(last) - static_cast<double>(first);
}

// Collects the longest duration at each position over all processes.
struct Longest {
    std::map<std::int64_t, double> by_step;
    std::vector<double> by_size;  // of the longest collections, the second longest ...
};

Longest longest_of(std::span<const model::CollectionSteps> processes, const CommonSteps& common) {
    Longest longest;
    for (const model::CollectionSteps& each : processes) {
        std::vector<double> own;
        for (std::size_t i = 0; i < each.steps.size(); ++i) {
            const std::int64_t step = each.steps[i];
            if (step < common.first || step >= common.last ||
                !model::is_in_sample(step, common.every)) {
                continue;
            }
            double& most = longest.by_step[step];
            most = std::max(most, each.seconds[i]);
            own.push_back(each.seconds[i]);
        }
        std::ranges::sort(own, std::greater<>());
        longest.by_size.resize(std::max(longest.by_size.size(), own.size()));
        for (std::size_t i = 0; i < own.size(); ++i) {
            longest.by_size[i] = std::max(longest.by_size[i], own[i]);
        }
    }
    return longest;
}

}  // namespace

std::optional<Alignment> alignment_of(const model::Report& report) {
    if (!report.collection_steps || report.collection_steps->size() < 2) {
        return {};
    }
    const std::span<const model::CollectionSteps> processes = *report.collection_steps;
    const CommonSteps common = common_steps(processes);
    if (common.first >= common.last) {
        return {};
    }
    const double steps = number_of_steps(common.first, common.last);
    Alignment alignment{.processes = processes.size()};
    for (const model::CollectionSteps& each : processes) {
        alignment.step += each.elapsed / number_of_steps(each.first_step, each.last_step) /
                          static_cast<double>(processes.size());
    }
    const Longest longest = longest_of(processes, common);
    const double weight = static_cast<double>(common.every) / steps;
    for (const auto& [step, seconds] : longest.by_step) {
        alignment.cost += weight * seconds;
    }
    for (const double seconds : longest.by_size) {
        alignment.aligned += weight * seconds;
    }
    return alignment;
}

std::string alignment_sentence(const model::Report& report) {
    const std::optional<Alignment> found = alignment_of(report);
    if (!found || found->cost <= 0) {
        return {};
    }
    const std::string cost = "Collections cost " + base::format_duration(found->cost) +
                             " of each " + base::format_duration(found->step) + " step";
    if (found->cost <= kAlignedEnough * found->aligned) {
        return cost + "; the ranks collect at the same steps.";
    }
    const std::string aligned =
        ", because the ranks collect at different steps and each waits for "
        "the others. At the same steps, they would cost " +
        base::format_duration(found->aligned);
    return cost + aligned +
           (found->cost < kNegligible * found->step ? "." : " (cyclewatch.collect_at()).");
}

}  // namespace cyclewatch::render
