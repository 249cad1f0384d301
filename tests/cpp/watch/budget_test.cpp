// SPDX-License-Identifier: Apache-2.0
#include "watch/budget.h"

#include <gtest/gtest.h>

namespace cyclewatch::watch {
namespace {

constexpr double kGrace = Budget::kGraceSeconds;

TEST(Budget, LooksInFullWithinTheGraceAndTheShare) {
    EXPECT_EQ(Budget(0.01).depth(kGrace, 0, 1), Depth::full);
    EXPECT_EQ(Budget(0.01).depth(kGrace + 0.9, 100, 1), Depth::full);
}

TEST(Budget, NamesLessOverIt) {
    EXPECT_EQ(Budget(0.01).depth(kGrace + 1.1, 100, 1), Depth::lean);
}

TEST(Budget, CountsOwnersOnlyFarOverItButLooksNowAndThen) {
    EXPECT_EQ(Budget(0.01).depth(kGrace + 3.1, 100, 1), Depth::owners_only);
    EXPECT_EQ(Budget(0.01).depth(kGrace + 3.1, 100, 2 * Budget::kSampleEvery), Depth::lean);
}

TEST(Budget, AWholeShareIsNoLimit) {
    EXPECT_EQ(Budget(1).depth(1000, 1, 1), Depth::full);
}

}  // namespace
}  // namespace cyclewatch::watch
