// SPDX-License-Identifier: Apache-2.0
#include "report/timeline.h"

#include <gtest/gtest.h>

#include <string>

namespace cyclewatch::report {
namespace {

Timeline timeline_of(std::uint64_t collections, std::size_t limit) {
    Timeline timeline(limit);
    for (std::uint64_t i = 1; i <= collections; ++i) {
        model::CollectionRecord record;
        record.number = i;
        record.released_bytes = i % 7 == 0 ? 100 : 1;
        timeline.add(record);
    }
    return timeline;
}

std::string numbers(const Timeline& timeline) {
    std::string text;
    for (const model::CollectionRecord& record : timeline.records()) {
        text += (text.empty() ? "" : " ") + std::to_string(record.number);
    }
    return text;
}

TEST(Timeline, KeepsEveryRecordUpToTheLimit) {
    const Timeline timeline = timeline_of(6, 6);
    EXPECT_EQ(numbers(timeline), "1 2 3 4 5 6");
    EXPECT_EQ(timeline.omitted(), 0U);
}

TEST(Timeline, KeepsTheLargestOfEachPairBeyondTheLimit) {
    // The pairs 1-2, 3-4, 5-6, 7-8, then the latest.
    EXPECT_EQ(numbers(timeline_of(7, 6)), "1 3 5 7");
    EXPECT_EQ(numbers(timeline_of(8, 6)), "1 3 5 7 8");
    EXPECT_EQ(timeline_of(8, 6).omitted(), 3U);
}

TEST(Timeline, CompletesTheLastGroupIfTheNumberIsOdd) {
    // Five are kept when the sixth is added: 1-2, 3-4, and 5, whose group 6 completes.
    EXPECT_EQ(numbers(timeline_of(6, 5)), "1 3 5 6");
    EXPECT_EQ(numbers(timeline_of(7, 5)), "1 3 5 7");
}

TEST(Timeline, CoversALongRunEvenly) {
    for (const std::size_t limit : {2U, 3U, 10U, 1000U}) {
        for (const std::uint64_t length : {1000U, 4567U, 100'000U}) {
            const auto records = timeline_of(length, limit).records();
            ASSERT_LE(records.size(), limit);
            EXPECT_GE(records.size(), std::min<std::size_t>(limit / 3, length));
            EXPECT_EQ(records.back().number, length);
            // A gap spans at most two groups.
            const std::uint64_t longest = 2 * (4 * length / limit + 1);
            std::uint64_t before = 0;
            for (const model::CollectionRecord& record : records) {
                ASSERT_GT(record.number, before);
                EXPECT_LE(record.number - before, longest) << limit << " of " << length;
                before = record.number;
            }
        }
    }
}

TEST(Timeline, IsEmptyAtFirst) {
    EXPECT_TRUE(Timeline().records().empty());
    EXPECT_EQ(Timeline().omitted(), 0U);
}

}  // namespace
}  // namespace cyclewatch::report
