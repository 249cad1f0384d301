// SPDX-License-Identifier: Apache-2.0
#include "watch/budget.h"

#include <gtest/gtest.h>

namespace cyclewatch::watch {
namespace {

TEST(Budget, LimitsTheDepthByTheTimeSpent) {
    struct Case {
        double share;
        double over_grace;  // seconds spent in excess of the grace
        std::uint64_t collection;
        Depth depth;
    };
    constexpr double kElapsed = 100;
    for (const Case& each : {Case{0.01, 0, 1, Depth::full},
                             Case{0.01, 0.9, 1, Depth::full},
                             Case{0.01, 1.1, 1, Depth::lean},
                             Case{0.01, 3.1, 1, Depth::owners_only},
                             Case{0.01, 3.1, 2 * Budget::kSampleEvery, Depth::lean},
                             Case{1, 1000, 1, Depth::full}}) {
        const double spent = Budget::kGraceSeconds + each.over_grace;
        EXPECT_EQ(Budget(each.share).depth(spent, kElapsed, each.collection), each.depth)
            << each.share << ' ' << each.over_grace << ' ' << each.collection;
    }
}

}  // namespace
}  // namespace cyclewatch::watch
