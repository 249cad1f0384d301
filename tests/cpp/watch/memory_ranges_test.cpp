// SPDX-License-Identifier: Apache-2.0
#include "watch/memory_ranges.h"

#include <gtest/gtest.h>

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace cyclewatch::watch {
namespace {

const std::string kCpu = "cpu";
const std::string kCuda = "cuda:0";

std::vector<std::uint64_t> counted(std::vector<MemoryRange> ranges) {
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        ranges[i].storage = i;
    }
    (void)count_once(ranges);
    std::vector<std::uint64_t> sizes;
    for (const MemoryRange& each : ranges) {
        sizes.push_back(each.bytes);
    }
    return sizes;
}

using Sizes = std::vector<std::uint64_t>;

TEST(MemoryRanges, SeparateRangesKeepTheirSizes) {
    EXPECT_EQ(counted({{&kCpu, 100, 10}, {&kCpu, 110, 10}, {&kCuda, 100, 10}}),
              (Sizes{10, 10, 10}));
    EXPECT_EQ(counted({}), Sizes{});
}

TEST(MemoryRanges, OverlappingMemoryIsCountedWithTheLargest) {
    EXPECT_EQ(counted({{&kCpu, 101, 9}, {&kCpu, 100, 10}, {&kCpu, 102, 8}}), (Sizes{0, 10, 0}));
    EXPECT_EQ(counted({{&kCpu, 100, 10}, {&kCpu, 105, 10}, {&kCpu, 112, 6}}), (Sizes{10, 5, 3}));
}

TEST(MemoryRanges, OverlappingMemoryIsCountedWithTensorsFirst) {
    EXPECT_EQ(counted({{&kCpu, 100, 50}, {&kCpu, 110, 10, 0, true}, {&kCpu, 130, 10, 0, true}}),
              (Sizes{30, 10, 10}));
}

TEST(MemoryRanges, RangesWithoutAnAddressOrBeyondTheEndAreNotCompared) {
    EXPECT_EQ(counted({{&kCpu, 0, 0}, {&kCpu, UINT64_MAX - 4, 10}, {&kCpu, 0, 10}}),
              (Sizes{0, 10, 10}));
}

TEST(MemoryRanges, TheSumIsTheSizeOfTheUnion) {
    constexpr std::size_t kEnd = 120;
    std::mt19937 random(1);
    for (int attempt = 0; attempt < 2000; ++attempt) {
        std::vector<MemoryRange> ranges(1 + random() % 8);
        std::bitset<kEnd> used;
        for (MemoryRange& each : ranges) {
            each = {&kCpu, random() % 60, random() % 60, 0, random() % 2 == 0};
            for (std::uint64_t i = 0; i < each.bytes; ++i) {
                used.set(each.start + i);
            }
        }
        const Sizes sizes = counted(ranges);
        ASSERT_EQ(std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0}), used.count());
    }
}

}  // namespace
}  // namespace cyclewatch::watch
