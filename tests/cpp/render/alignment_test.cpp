// SPDX-License-Identifier: Apache-2.0
#include "render/alignment.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>

namespace cyclewatch::render {
namespace {

// Ten steps of 2 seconds. `pauses`: the seconds of the collections in a step.
model::CollectionSteps rank(const std::map<std::int64_t, double>& pauses) {
    model::CollectionSteps steps;
    steps.last_step = 10;
    steps.elapsed = 20;
    for (const auto& [step, seconds] : pauses) {
        steps.steps.push_back(step);
        steps.seconds.push_back(seconds);
        steps.freed_bytes.push_back(0);
    }
    return steps;
}

model::Report job(std::vector<model::CollectionSteps> ranks) {
    model::Report report;
    report.collection_steps = std::move(ranks);
    return report;
}

Alignment alignment(std::vector<model::CollectionSteps> ranks) {
    const std::optional<Alignment> found = alignment_of(job(std::move(ranks)));
    EXPECT_TRUE(found.has_value());
    return found.value_or(Alignment());
}

TEST(Alignment, CountsTheSlowestRankOfEachStep) {
    const Alignment found = alignment({rank({{1, 3}, {4, 1}}), rank({{2, 2}}), rank({{1, 0.5}})});
    // The slowest: 3 in step 1, 2 in step 2 and 1 in step 4; of ten steps.
    EXPECT_DOUBLE_EQ(found.cost, 0.6);
    // Together: the longest collections of all (3, 2 and 0.5) in one step, then the only second
    // one.
    EXPECT_DOUBLE_EQ(found.aligned, 0.4);
    EXPECT_DOUBLE_EQ(found.step, 2);
    EXPECT_EQ(found.processes, 3U);
}

TEST(Alignment, OfEqualStepsGainsNothing) {
    const Alignment found = alignment({rank({{3, 1}, {6, 1}}), rank({{3, 1}, {6, 1}})});
    EXPECT_DOUBLE_EQ(found.cost, 0.2);
    EXPECT_DOUBLE_EQ(found.aligned, found.cost);
}

TEST(Alignment, UsesTheStepsThatAllRanksCounted) {
    model::CollectionSteps late = rank({{4, 1}, {8, 1}});
    late.first_step = 5;
    late.elapsed = 20;  // five steps of 4 seconds
    const Alignment found = alignment({rank({{2, 7}, {6, 2}, {10, 7}}), late});
    // Steps 5 to 9: 2 in step 6 and 1 in step 8.
    EXPECT_DOUBLE_EQ(found.cost, 0.6);
    EXPECT_DOUBLE_EQ(found.aligned, 0.4);
    EXPECT_DOUBLE_EQ(found.step, 3) << "the mean of the ranks";
}

TEST(Alignment, ScalesASampleUp) {
    std::map<std::int64_t, double> all;
    double sampled = 0;
    for (std::int64_t step = 0; step < 10; ++step) {
        all.emplace(step, 1);
        sampled += model::is_in_sample(step, 4) ? 1 : 0;
    }
    model::CollectionSteps coarse = rank({});
    coarse.every = 4;
    EXPECT_DOUBLE_EQ(alignment({rank(all), coarse}).cost, sampled * 4 / 10);
}

TEST(Alignment, NeedsTwoRanksWithStepsInCommon) {
    EXPECT_FALSE(alignment_of(model::Report()));
    EXPECT_FALSE(alignment_of(job({rank({{1, 1}})})));
    model::CollectionSteps later = rank({});
    later.first_step = 10;
    later.last_step = 20;
    EXPECT_FALSE(alignment_of(job({rank({{1, 1}}), later})));
    EXPECT_EQ(alignment_sentence(job({rank({{1, 1}})})), "");
}

TEST(AlignmentSentence, AdvisesOnlyIfAligningIsWorthIt) {
    EXPECT_EQ(alignment_sentence(job({rank({}), rank({})})), "");
    EXPECT_EQ(alignment_sentence(job({rank({{1, 1}}), rank({{1, 1.2}})})),
              "Collections cost 120 ms of each 2.0 s step; the ranks collect at the same steps.");
    EXPECT_EQ(alignment_sentence(job({rank({{1, 1}}), rank({{2, 1}})})),
              "Collections cost 200 ms of each 2.0 s step, because the ranks collect at different "
              "steps and each waits for the others. At the same steps, they would cost 100 ms "
              "(cyclewatch.collect_at()).");
    const std::string negligible =
        alignment_sentence(job({rank({{1, 0.004}}), rank({{2, 0.004}})}));
    EXPECT_NE(negligible.find("At the same steps"), std::string::npos);
    EXPECT_EQ(negligible.find("collect_at"), std::string::npos);
}

}  // namespace
}  // namespace cyclewatch::render
