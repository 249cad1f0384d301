// SPDX-License-Identifier: Apache-2.0
#include "report/step_pauses.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace cyclewatch::report {
namespace {

constexpr double kShortPauses = 0.01;  // of the longest

// Keeps the file small.
double in_microseconds(double seconds) {
    return std::round(seconds * 1e6) / 1e6;
}

model::CollectionSteps without_columns(const model::CollectionSteps& steps) {
    return {.process = steps.process,
            .first_step = steps.first_step,
            .last_step = steps.last_step,
            .elapsed = steps.elapsed,
            .every = steps.every,
            .shorter_than = steps.shorter_than,
            .steps = {},
            .seconds = {},
            .freed_bytes = {}};
}

// Leaves out the steps that are shorter than `steps.shorter_than` or not in the sample.
void select(model::CollectionSteps& steps) {
    model::CollectionSteps fewer = without_columns(steps);
    for (std::size_t i = 0; i < steps.steps.size(); ++i) {
        if (steps.seconds[i] >= steps.shorter_than &&
            model::is_in_sample(steps.steps[i], steps.every)) {
            fewer.steps.push_back(steps.steps[i]);
            fewer.seconds.push_back(steps.seconds[i]);
            fewer.freed_bytes.push_back(steps.freed_bytes[i]);
        }
    }
    steps = std::move(fewer);
}

}  // namespace

void StepPauses::begin_step(std::int64_t step, double at) {
    if (!has_steps_ || step < step_ - 1) {
        *this = {};
        known_.first_step = known_.last_step = step;
        first_at_ = at;
    }
    has_steps_ = true;
    step_ = step;
    if (step > known_.last_step) {
        known_.last_step = step;
        known_.elapsed = at - first_at_;
    }
}

void StepPauses::add(double seconds, std::uint64_t freed_bytes) {
    if (!has_steps_ || !model::is_in_sample(step_, known_.every)) {
        return;
    }
    Pause& pause = pauses_[step_];
    pause.seconds += seconds;
    pause.freed_bytes += freed_bytes;
    if (pauses_.size() <= kMaxPauses) {
        return;
    }
    std::vector<model::CollectionSteps> all = columns();
    thin(all, kMaxPauses * 3 / 4);
    const model::CollectionSteps& fewer = all.front();
    known_.every = fewer.every;
    known_.shorter_than = fewer.shorter_than;
    // The current step may have further collections, so it is kept.
    std::erase_if(pauses_, [&](const auto& entry) {
        return entry.first != step_ && !std::ranges::binary_search(fewer.steps, entry.first);
    });
}

std::vector<model::CollectionSteps> StepPauses::columns() const {
    if (!has_steps_ || known_.last_step == known_.first_step) {
        return {};
    }
    model::CollectionSteps steps = known_;
    for (const auto& [step, pause] : pauses_) {
        steps.steps.push_back(step);
        steps.seconds.push_back(in_microseconds(pause.seconds));
        steps.freed_bytes.push_back(pause.freed_bytes);
    }
    select(steps);
    return {std::move(steps)};
}

void thin(std::span<model::CollectionSteps> processes, std::size_t limit) {
    std::uint64_t every = 1;
    double shorter_than = 0;
    for (const model::CollectionSteps& steps : processes) {
        every = std::max(every, steps.every);
        shorter_than = std::max(shorter_than, steps.shorter_than);
    }
    const auto apply = [&] {
        std::size_t most = 0;
        for (model::CollectionSteps& steps : processes) {
            steps.every = every;
            steps.shorter_than = shorter_than;
            select(steps);
            most = std::max(most, steps.steps.size());
        }
        return most;
    };
    if (apply() <= limit) {
        return;
    }
    for (const model::CollectionSteps& steps : processes) {
        for (const double seconds : steps.seconds) {
            shorter_than = std::max(shorter_than, kShortPauses * seconds);
        }
    }
    while (apply() > limit) {
        every *= 2;
    }
}

}  // namespace cyclewatch::report
