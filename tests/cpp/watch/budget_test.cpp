// SPDX-License-Identifier: Apache-2.0
#include "watch/budget.h"

#include <gtest/gtest.h>

namespace cyclewatch::watch {
namespace {

TEST(Budget, LimitsTheDepthByTheTimeSpent) {
    struct Case {
        double share;
        double over_grace;  // seconds spent in excess of the grace
        Depth depth;
    };
    constexpr double kElapsed = 100;
    for (const Case& each : {Case{0.01, 0, Depth::full},
                             Case{0.01, 0.9, Depth::full},
                             Case{0.01, 1.1, Depth::none},
                             Case{1, 1000, Depth::full}}) {
        const double spent = Budget::kGraceSeconds + each.over_grace;
        EXPECT_EQ(Budget(each.share).depth(spent, kElapsed, 3), each.depth)
            << each.share << ' ' << each.over_grace;
    }
}

// A program with a collection every 0.05 s. The watch spends `seconds_per_object` on each object of
// a collection that it searches, and 0.1 ms on a collection that it does not search.
struct Program {
    double spent = 0;
    int searched = 0;

    Program(double share, std::uint64_t objects, double seconds_per_object, double first) {
        Budget budget(share);
        spent = first;
        budget.searched(spent, 0, 3, first);
        for (double elapsed = 0.05; elapsed < 200; elapsed += 0.05) {
            const Depth depth = budget.depth(spent, elapsed, objects);
            if (depth == Depth::none) {
                spent += 1e-4;
                continue;
            }
            ++searched;
            const double seconds = seconds_per_object * static_cast<double>(objects);
            spent += seconds;
            budget.searched(spent, elapsed, objects, seconds);
        }
    }
};

TEST(Budget, SamplesCollectionsOverBudget) {
    for (const double seconds_per_object : {0.1e-6, 0.5e-6, 2e-6}) {
        const Program program(0.01, 30'000, seconds_per_object, 0);
        EXPECT_LT(program.spent, 1.1 * (Budget::kGraceSeconds + 0.01 * 200)) << seconds_per_object;
        EXPECT_GT(program.searched, 3) << seconds_per_object;
    }
}

TEST(Budget, SearchesSoonAfterALongAnalysis) {
    const Program program(0.01, 30'000, 0.5e-6, 10);
    EXPECT_GT(program.searched, 50);
    EXPECT_LT(program.spent, 10 + 1.1 * 0.01 * 200);
}

}  // namespace
}  // namespace cyclewatch::watch
