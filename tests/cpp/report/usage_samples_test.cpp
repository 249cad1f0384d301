// SPDX-License-Identifier: Apache-2.0
#include "report/usage_samples.h"

#include <gtest/gtest.h>

namespace cyclewatch::report {
namespace {

using Sizes = std::vector<std::uint64_t>;

TEST(UsageSamples, AreStoredAsTheyAreUpToTheLimit) {
    UsageSamples samples(4, "cpu", "resident memory");
    for (int i = 0; i < 4; ++i) {
        samples.add(0.5 * i, static_cast<std::uint64_t>(10 * i));
    }
    EXPECT_EQ(samples.columns().times, (std::vector{0.0, 0.5, 1.0, 1.5}));
    EXPECT_EQ(samples.columns().lowest, (Sizes{0, 10, 20, 30}));
    EXPECT_EQ(samples.columns().highest, samples.columns().lowest);
}

TEST(UsageSamples, KeepPeaksAndTroughsInRowsThatCoverEquallyMany) {
    UsageSamples samples(4, "cpu", "");
    for (int i = 0; i < 11; ++i) {
        samples.add(i, i == 6 ? 100U : i == 9 ? 1U : 10U);
    }
    EXPECT_EQ(samples.columns().times, (std::vector<double>{0, 4, 8}));
    EXPECT_EQ(samples.columns().lowest, (Sizes{10, 10, 1}));
    EXPECT_EQ(samples.columns().highest, (Sizes{10, 100, 10}));
}

TEST(UsageSamples, OfAnOddLimitFillTheLastRowAfterItsHalving) {
    UsageSamples samples(3, "cpu", "");
    for (int i = 0; i < 5; ++i) {
        samples.add(i, static_cast<std::uint64_t>(i));
    }
    EXPECT_EQ(samples.columns().times, (std::vector<double>{0, 2, 4}));
    EXPECT_EQ(samples.columns().lowest, (Sizes{0, 2, 4}));
    EXPECT_EQ(samples.columns().highest, (Sizes{1, 3, 4}));
}

TEST(UsageSamples, CanBeThinned) {
    UsageSamples samples(8, "cuda:0", "allocated by torch");
    for (int i = 0; i < 8; ++i) {
        samples.add(i, static_cast<std::uint64_t>(i));
    }
    const UsageSamples fewer(2, samples.columns());
    EXPECT_EQ(fewer.columns().device, "cuda:0");
    EXPECT_EQ(fewer.columns().source, "allocated by torch");
    EXPECT_EQ(fewer.columns().times, (std::vector<double>{0, 4}));
    EXPECT_EQ(fewer.columns().lowest, (Sizes{0, 4}));
    EXPECT_EQ(fewer.columns().highest, (Sizes{3, 7}));
}

}  // namespace
}  // namespace cyclewatch::report
