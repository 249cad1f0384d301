// SPDX-License-Identifier: Apache-2.0
#include "device/memory_events.h"

#include <gtest/gtest.h>

#include <vector>

namespace cyclewatch::device {
namespace {

constexpr std::uint64_t kBytes = 4096;
// The collection starts to free objects at kUnreachable and ends at kSettled.
constexpr std::int64_t kUnreachable = 10'000;
constexpr std::int64_t kSettled = 20'000;
constexpr std::int64_t kNever = INT64_MAX;
constexpr auto kNone = std::nullopt;

MemoryEvent allocated(std::int64_t time, std::uint64_t bytes = kBytes) {
    return {MemoryEvent::Kind::allocated, bytes, time};
}

MemoryEvent freed(std::int64_t time) {
    return {MemoryEvent::Kind::freed, kBytes, time};
}

struct Case {
    const char* name;
    std::vector<MemoryEvent> events;
    std::optional<std::size_t> expected;
    bool released = true;
};

TEST(AllocationOf, FindsTheAllocationThatTheCollectionFreed) {
    const Case cases[] = {
        {"freed by the collection", {allocated(1), freed(15'000)}, 0},
        {"earlier and later allocations",
         {allocated(1), freed(2), allocated(3), freed(15'000), allocated(30'000), freed(31'000)},
         2},
        {"reused by a finalizer during the sweep",
         {allocated(1), freed(12'000), allocated(13'000), freed(14'000)},
         0},
        {"free request and completion", {allocated(1), freed(15'000), freed(40'000)}, 0},
        {"no events", {}, kNone},
        {"allocation not recorded", {freed(15'000), allocated(30'000)}, kNone},
        {"free not recorded", {allocated(1)}, kNone},
        {"free not recorded before reuse", {allocated(1), allocated(15'000), freed(16'000)}, kNone},
        {"freed too early", {allocated(1), freed(kUnreachable - 101)}, kNone},
        {"freed too late", {allocated(1), freed(kSettled + 101)}, kNone},
        {"early within the error", {allocated(1), freed(kUnreachable - 99)}, 0},
        {"late within the error", {allocated(1), freed(kSettled + 99)}, 0},
        {"two candidates",
         {allocated(1), freed(kUnreachable - 50), allocated(kUnreachable - 20), freed(15'000)},
         kNone},
        {"other size", {allocated(1, kBytes - 1), freed(15'000)}, kNone},
        {"no time", {allocated(kNever), freed(kNever)}, kNone},
        {"not released", {allocated(1)}, 0, false},
        {"not released, freed later", {allocated(1), freed(30'000)}, 0, false},
        {"not released, but freed", {allocated(1), freed(15'000)}, kNone, false},
        {"not released, allocated later", {allocated(30'000)}, kNone, false},
        {"not released, no time", {allocated(kNever)}, kNone, false},
    };
    for (const Case& each : cases) {
        const CollectedStorage storage{.device = 0,
                                       .address = 0x1000,
                                       .bytes = kBytes,
                                       .released = each.released,
                                       .unreachable = {kUnreachable},
                                       .settled = {kSettled}};
        EXPECT_EQ(allocation_of(storage, each.events), each.expected) << each.name;
    }
}

}  // namespace
}  // namespace cyclewatch::device
