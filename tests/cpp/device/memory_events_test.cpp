// SPDX-License-Identifier: Apache-2.0
// Which of an address's tenants a collection freed.
#include "device/memory_events.h"

#include <gtest/gtest.h>

#include <vector>

namespace cyclewatch::device {
namespace {

using Kind = MemoryEvent::Kind;
constexpr std::uint64_t kBytes = 4096;
// The collection began to free at 10,000 and was over at 20,000.
constexpr std::int64_t kUnreachable = 10'000;
constexpr std::int64_t kSettled = 20'000;

CollectedStorage storage(bool released = true) {
    CollectedStorage result;
    result.address = 0x1000;
    result.bytes = kBytes;
    result.released = released;
    result.unreachable.microseconds = kUnreachable;
    result.settled.microseconds = kSettled;
    return result;
}

MemoryEvent allocated(std::int64_t time, std::uint64_t bytes = kBytes) {
    return {Kind::allocated, bytes, time};
}

MemoryEvent freed(std::int64_t time) {
    return {Kind::freed, kBytes, time};
}

using Events = std::vector<MemoryEvent>;
constexpr auto kNothing = std::nullopt;

TEST(AllocationOf, IsTheOneThatTheCollectionFreed) {
    EXPECT_EQ(allocation_of(storage(), Events{allocated(1), freed(15'000)}), 0U);
}

TEST(AllocationOf, IsNoEarlierAndNoLaterTenant) {
    const Events events{allocated(1),
                        freed(2),
                        allocated(3),
                        freed(15'000),
                        allocated(30'000),
                        freed(31'000),
                        allocated(32'000)};
    EXPECT_EQ(allocation_of(storage(), events), 2U);
}

TEST(AllocationOf, IsNotATenantOfTheSweepItself) {
    // A finalizer had the address for a while after it was freed.
    const Events events{allocated(1), freed(12'000), allocated(13'000), freed(14'000)};
    EXPECT_EQ(allocation_of(storage(), events), 0U);
}

TEST(AllocationOf, ReadsARequestAndACompletionAsOneEnd) {
    EXPECT_EQ(allocation_of(storage(), Events{allocated(1), freed(15'000), freed(40'000)}), 0U);
}

TEST(AllocationOf, IsUnknownWhereTheHistoryBeganLater) {
    EXPECT_EQ(allocation_of(storage(), Events{}), kNothing);
    EXPECT_EQ(allocation_of(storage(), Events{freed(15'000)}), kNothing);
    EXPECT_EQ(allocation_of(storage(), Events{freed(15'000), allocated(30'000)}), kNothing);
}

TEST(AllocationOf, IsUnknownWhereTheEndWasNotRecorded) {
    EXPECT_EQ(allocation_of(storage(), Events{allocated(1)}), kNothing);
    EXPECT_EQ(allocation_of(storage(), Events{allocated(1), allocated(30'000)}), kNothing);
    // The second tenant's end is not that of the first.
    EXPECT_EQ(allocation_of(storage(), Events{allocated(1), allocated(15'000), freed(16'000)}),
              kNothing);
}

TEST(AllocationOf, IsUnknownWhereItEndedBeforeOrAfterTheCollection) {
    EXPECT_EQ(allocation_of(storage(), Events{allocated(1), freed(kUnreachable - 101)}), kNothing);
    EXPECT_EQ(allocation_of(storage(), Events{allocated(1), freed(kSettled + 101)}), kNothing);
    EXPECT_EQ(allocation_of(storage(), Events{allocated(1), freed(kUnreachable - 99)}), 0U);
    EXPECT_EQ(allocation_of(storage(), Events{allocated(1), freed(kSettled + 99)}), 0U);
}

TEST(AllocationOf, IsUnknownWhereStampsCannotTellTwoApart) {
    const Events events{allocated(1),
                        freed(kUnreachable - 50),
                        allocated(kUnreachable - 20),
                        freed(kUnreachable + 20)};
    EXPECT_EQ(allocation_of(storage(), events), kNothing);
}

TEST(AllocationOf, HasTheSizeOfTheStorage) {
    EXPECT_EQ(allocation_of(storage(), Events{allocated(1, kBytes - 1), freed(15'000)}), kNothing);
}

TEST(AllocationOf, OfWhatWasNotReleasedMustHaveOutlivedTheCollection) {
    EXPECT_EQ(allocation_of(storage(false), Events{allocated(1)}), 0U);
    EXPECT_EQ(allocation_of(storage(false), Events{allocated(1), freed(30'000)}), 0U);
    EXPECT_EQ(allocation_of(storage(false), Events{allocated(1), freed(15'000)}), kNothing);
    EXPECT_EQ(allocation_of(storage(false), Events{allocated(30'000)}), kNothing);
}

TEST(AllocationOf, IsUnknownOfEventsWithoutATime) {
    constexpr std::int64_t never = INT64_MAX;
    EXPECT_EQ(allocation_of(storage(), Events{allocated(never), freed(never)}), kNothing);
    EXPECT_EQ(allocation_of(storage(false), Events{allocated(never)}), kNothing);
}

}  // namespace
}  // namespace cyclewatch::device
