// SPDX-License-Identifier: Apache-2.0
#include "report/step_pauses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace cyclewatch::report {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::SizeIs;

model::CollectionSteps only(const StepPauses& pauses) {
    const std::vector<model::CollectionSteps> columns = pauses.columns();
    EXPECT_THAT(columns, SizeIs(1));
    return columns.empty() ? model::CollectionSteps() : columns.front();
}

// A collection of `seconds` in each of `steps` steps, every 100th of which takes 1 second.
model::CollectionSteps steady(std::int64_t steps, double seconds) {
    model::CollectionSteps all;
    all.last_step = steps;
    for (std::int64_t step = 0; step < steps; ++step) {
        all.steps.push_back(step);
        all.seconds.push_back(step % 100 == 0 ? 1 : seconds);
        all.freed_bytes.push_back(0);
    }
    return all;
}

TEST(StepPauses, AddUpTheCollectionsOfAStep) {
    StepPauses pauses;
    pauses.add(9, 9);  // before the first step
    pauses.begin_step(3, 10);
    pauses.add(0.25, 100);
    pauses.add(0.5, 20);
    pauses.begin_step(4, 11);
    pauses.begin_step(6, 14);
    pauses.add(0.0000004, 0);  // written in microseconds
    const model::CollectionSteps steps = only(pauses);
    EXPECT_EQ(steps.first_step, 3);
    EXPECT_EQ(steps.last_step, 6);
    EXPECT_EQ(steps.elapsed, 4);
    EXPECT_THAT(steps.steps, ElementsAre(3, 6));
    EXPECT_THAT(steps.seconds, ElementsAre(0.75, 0));
    EXPECT_THAT(steps.freed_bytes, ElementsAre(120U, 0U));
}

TEST(StepPauses, OfOneStepOrNoneAreEmpty) {
    StepPauses pauses;
    EXPECT_THAT(pauses.columns(), IsEmpty());
    pauses.begin_step(7, 1);
    pauses.add(1, 1);
    EXPECT_THAT(pauses.columns(), IsEmpty());
}

TEST(StepPauses, StartAgainIfTheProgramCountsAgain) {
    StepPauses pauses;
    for (const std::int64_t step : {5, 6, 5, 6}) {  // by one less: a second caller
        pauses.begin_step(step, static_cast<double>(step));
        pauses.add(1, 0);
    }
    EXPECT_THAT(only(pauses).seconds, ElementsAre(2, 2));
    pauses.begin_step(0, 20);
    pauses.begin_step(1, 25);
    const model::CollectionSteps steps = only(pauses);
    EXPECT_EQ(steps.first_step, 0);
    EXPECT_EQ(steps.elapsed, 5);
    EXPECT_THAT(steps.steps, IsEmpty());
}

TEST(StepPauses, KeepALongPauseAmongManyShortOnes) {
    StepPauses pauses;
    for (std::int64_t step = 0; step < 20'000; ++step) {
        pauses.begin_step(step, static_cast<double>(step));
        pauses.add(step == 5 ? 2 : 0.001, 1);
    }
    const model::CollectionSteps steps = only(pauses);
    EXPECT_THAT(steps.steps, ElementsAre(5));
    EXPECT_EQ(steps.every, 1U);
    EXPECT_EQ(steps.last_step, 19'999);
}

TEST(StepPauses, AreASampleIfAllAreEquallyLong) {
    StepPauses pauses;
    for (std::int64_t step = 0; step < 20'000; ++step) {
        pauses.begin_step(step, static_cast<double>(step));
        pauses.add(0.5, 1);
    }
    const model::CollectionSteps steps = only(pauses);
    std::vector<std::int64_t> sampled;
    for (std::int64_t step = 0; step < 20'000; ++step) {
        if (model::is_in_sample(step, steps.every)) {
            sampled.push_back(step);
        }
    }
    EXPECT_EQ(steps.steps, sampled);
    EXPECT_THAT(steps.steps, SizeIs(Le(kMaxPauses)));
}

TEST(StepPauses, CountAllCollectionsOfTheStepInWhichTheyAreThinned) {
    StepPauses pauses;
    pauses.begin_step(0, 0);
    pauses.add(1, 0);
    // Short pauses of later steps are left out when there are too many.
    std::int64_t step = 0;
    while (step < 2 || (step < 5000 && only(pauses).shorter_than == 0)) {
        ++step;
        pauses.begin_step(step, static_cast<double>(step));
        pauses.add(0.001, 0);
    }
    pauses.add(0.5, 0);  // in the same step as the one that was too many
    EXPECT_THAT(only(pauses).steps, ElementsAre(0, step));
    EXPECT_THAT(only(pauses).seconds, ElementsAre(1, 0.501));
}

TEST(ThinPauses, LeavesOutShortPausesFirst) {
    std::vector<model::CollectionSteps> all{steady(1000, 0.001), steady(50, 0.5)};
    thin(all, 100);
    EXPECT_EQ(all[0].every, 1U);
    EXPECT_DOUBLE_EQ(all[0].shorter_than, 0.01);
    EXPECT_THAT(all[0].steps, ElementsAre(0, 100, 200, 300, 400, 500, 600, 700, 800, 900));
    EXPECT_THAT(all[1].steps, SizeIs(50)) << "none of these is short";
}

TEST(ThinPauses, SamplesTheSameStepsOfAllProcesses) {
    std::vector<model::CollectionSteps> all{steady(1000, 0.5), steady(10, 0.5)};
    thin(all, 300);
    EXPECT_EQ(all[0].every, all[1].every);
    EXPECT_GT(all[0].every, 1U);
    EXPECT_THAT(all[0].steps, SizeIs(Le(300U)));
    for (std::int64_t step = 0; step < 10; ++step) {
        EXPECT_EQ(std::ranges::binary_search(all[0].steps, step),
                  std::ranges::binary_search(all[1].steps, step));
    }
}

TEST(ThinPauses, AppliesTheCoarsestSampleToAll) {
    std::vector<model::CollectionSteps> all{steady(64, 0.5), steady(64, 0.5)};
    all[1].every = 4;
    all[1].shorter_than = 0.7;
    thin(all, 1000);
    EXPECT_EQ(all[0].every, 4U);
    EXPECT_EQ(all[0].steps, all[1].steps);
    EXPECT_THAT(all[0].seconds, ::testing::Each(1));
}

TEST(ThinPauses, LeavesShortColumnsUnchanged) {
    std::vector<model::CollectionSteps> all{steady(20, 0.001)};
    thin(all, 20);
    EXPECT_EQ(all[0], steady(20, 0.001));
}

}  // namespace
}  // namespace cyclewatch::report
