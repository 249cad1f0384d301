// SPDX-License-Identifier: Apache-2.0
#include "model/memory_account.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace cyclewatch::model {
namespace {

std::uint64_t& size_of(CategorySizes& sizes, OwnerCategory category) {
    switch (category) {
        case OwnerCategory::parameter:
            return sizes.parameter;
        case OwnerCategory::gradient:
            return sizes.gradient;
        case OwnerCategory::optimizer_state:
            return sizes.optimizer_state;
        case OwnerCategory::saved_for_backward:
            return sizes.saved_for_backward;
        case OwnerCategory::activation:
            return sizes.activation;
        case OwnerCategory::buffer:
        case OwnerCategory::held_by_cpp:
        case OwnerCategory::other:
            break;
    }
    return sizes.other;
}

}  // namespace

void add_size(CategorySizes& sizes, const LiveOwner& owner) {
    size_of(sizes, owner.category) += owner.bytes;
}

MemorySteps in_columns(std::string device,
                       const std::vector<StepSample>& samples,
                       std::vector<CategorySizes> censuses) {
    MemorySteps steps;
    steps.device = std::move(device);
    for (const StepSample& sample : samples) {
        steps.steps.push_back(sample.step);
        steps.times.push_back(sample.at);
        steps.in_use.push_back(sample.in_use);
        steps.allocated.push_back(sample.allocated);
        steps.dead.push_back(sample.dead);
    }
    if (std::ranges::any_of(samples, [](const StepSample& each) { return each.peak > 0; })) {
        std::ranges::transform(
            samples, std::back_inserter(steps.peak.emplace()), &StepSample::peak);
    }
    steps.censuses = std::move(censuses);
    return steps;
}

std::vector<StepSample> samples_of(const MemorySteps& steps) {
    std::vector<StepSample> samples;
    for (std::size_t i = 0; i < steps.steps.size(); ++i) {
        samples.push_back({.number = i + 1,
                           .step = steps.steps[i],
                           .at = steps.times[i],
                           .in_use = steps.in_use[i],
                           .allocated = steps.allocated[i],
                           .peak = steps.peak ? (*steps.peak)[i] : 0,
                           .dead = steps.dead[i]});
    }
    return samples;
}

}  // namespace cyclewatch::model
