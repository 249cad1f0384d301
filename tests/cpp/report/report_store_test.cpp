// SPDX-License-Identifier: Apache-2.0
#include "report/report_store.h"
#include "report/merge.h"
#include "report/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <algorithm>
#include <string>
#include <thread>

namespace cyclewatch::report {
namespace {

using Owners = std::vector<model::OwnerSummary>;

model::CollectionRecord record(std::uint64_t number, std::uint64_t released = 0) {
    model::CollectionRecord result;
    result.number = number;
    result.started_at = static_cast<double>(number);
    result.dead_for_at_most = 10.0 / static_cast<double>(number);
    result.owners = 1;
    result.released_bytes = released;
    return result;
}

model::Finding finding(const std::string& signature, std::uint64_t bytes, Owners owners = {}) {
    model::Finding result;
    result.signature = signature;
    result.remedy = "keeps " + std::to_string(bytes);
    result.retained_bytes = result.largest_bytes = result.attributed_bytes = bytes;
    result.occurrences = 1;
    result.owners = std::move(owners);
    return result;
}

// A finding whose reference to cut is at `location`.
model::Finding cut_at(const std::string& signature, const std::string& location) {
    model::Finding result = finding(signature, 10);
    result.title = "title of " + signature;
    result.pattern = "back-pointer";
    model::Reference cut;
    cut.holder = "m." + signature;
    cut.label = ".parent";
    cut.location = location;
    result.cycle = result.cut = {cut};
    return result;
}

model::OwnerSummary owner(std::uint64_t bytes, const std::string& path, std::uint64_t count = 1) {
    model::OwnerSummary result;
    result.type = "Tensor";
    result.bytes = bytes;
    result.path = path;
    result.count = count;
    return result;
}

model::OwnerSummary owner_at(const std::string& site, std::uint64_t count) {
    model::OwnerSummary result = owner(8, "A.w", count);
    result.allocated_at = site;
    return result;
}

class ReportStoreTest : public ::testing::Test {
  protected:
    model::Finding first() const { return store_.snapshot({}).findings.at(0); }

    ReportStore store_{{}, {"cuda"}};
};

TEST_F(ReportStoreTest, AddDistinguishesNewFindingsFromKnownOnes) {
    const Added first = store_.add(record(1), {finding("a", 8), finding("b", 4)});
    EXPECT_EQ(first.fresh.size(), 2U);
    EXPECT_TRUE(first.seen.empty());
    const Added second = store_.add(record(2), {finding("a", 8)});
    EXPECT_TRUE(second.fresh.empty());
    ASSERT_EQ(second.seen.size(), 1U);
    EXPECT_EQ(second.seen[0].retained_bytes, 16U) << "the merged state";
}

TEST_F(ReportStoreTest, RepeatedFindingsAreCountedButNotDescribedAgain) {
    store_.add(record(1), {finding("a", 8)});
    const Added repeated = store_.add(record(2), {finding("a", 8), finding("b", 4)}, true);
    EXPECT_TRUE(repeated.seen.empty());
    ASSERT_EQ(repeated.fresh.size(), 1U) << "the earlier call was for another store";
    const model::Report report = store_.snapshot({});
    EXPECT_EQ(report.findings[0].occurrences, 2U);
    EXPECT_EQ(report.findings[0].retained_bytes, 16U);
}

TEST_F(ReportStoreTest, MergesEqualFindings) {
    model::CollectionRecord later = record(5);
    later.step = 700;
    store_.add(record(2), {finding("a", 8), finding("b", 1)});
    store_.add(later, {finding("a", 32)});
    store_.add(record(10), {finding("a", 16)});
    const model::Finding merged = first();
    EXPECT_EQ(merged.retained_bytes, 56U);
    EXPECT_EQ(merged.occurrences, 3U);
    EXPECT_EQ(merged.largest_bytes, 32U);
    EXPECT_EQ(merged.collections, 3U);
    EXPECT_EQ(merged.first_collection, 2U);
    EXPECT_EQ(merged.first_seen, 2.0);
    EXPECT_EQ(merged.last_seen, 10.0);
    EXPECT_EQ(merged.dead_for_at_most, 5.0) << "the longest time";
    EXPECT_EQ(merged.byte_seconds, 8 * 5.0 + 32 * 2.0 + 16 * 1.0);
    EXPECT_EQ(merged.remedy, "keeps 32") << "describes the largest occurrence";
    const std::vector<model::ProcessOccurrences> expected{{0, 3, 56, 2.0, -1}};
    EXPECT_EQ(merged.by_process, expected) << "first seen before the program set a step";
}

TEST_F(ReportStoreTest, CountsScansSeparately) {
    model::CollectionRecord scan = record(2);
    scan.scan = true;
    store_.add(scan, {finding("a", 8)});
    EXPECT_EQ(first().collections, 0U);
    EXPECT_EQ(first().scans, 1U);
    store_.add(record(3), {finding("a", 8)});
    EXPECT_EQ(first().collections, 1U);
    EXPECT_EQ(first().scans, 1U);
}

TEST_F(ReportStoreTest, CountsEqualOwnersTogether) {
    store_.add(record(1), {finding("a", 8, {owner(8, "A.w", 2)})});
    store_.add(record(2), {finding("a", 8, {owner(8, "A.w", 3), owner(64, "A.v")})});
    EXPECT_EQ(first().owners, (Owners{owner(64, "A.v"), owner(8, "A.w", 5)})) << "largest first";
}

TEST(Merge, MatchesOwnersWithUnknownAllocationSites) {
    const Owners known{owner_at("t.py:1", 2)};
    const Owners unknown{owner_at("", 3)};
    const Owners both{owner_at("", 4), owner_at("t.py:1", 2)};
    const struct {
        Owners stored;
        Owners later;
        Owners merged;
    } cases[] = {
        {known, unknown, {owner_at("t.py:1", 5)}},
        {unknown, known, {owner_at("t.py:1", 5)}},
        {unknown, unknown, {owner_at("", 6)}},
        {known, {owner_at("t.py:2", 3)}, {owner_at("t.py:2", 3), owner_at("t.py:1", 2)}},
        {both, {owner_at("t.py:1", 1)}, {owner_at("", 4), owner_at("t.py:1", 3)}},
        {both, {owner_at("", 1)}, {owner_at("", 5), owner_at("t.py:1", 2)}},
    };
    for (const auto& one : cases) {
        model::Finding stored = finding("a", 8, one.stored);
        merge(stored, finding("a", 8, one.later));
        EXPECT_EQ(stored.owners, one.merged);
    }
}

TEST(Place, SplitsOwnersByAllocationSite) {
    const Owners other{owner(64, "A.v")};
    const struct {
        const char* description;
        Owners stored;
        std::uint64_t count;
        std::map<std::string, std::uint64_t> sites;
        Owners placed;
    } cases[] = {
        {"all found",
         {owner_at("", 3)},
         3,
         {{"t.py:1", 1}, {"t.py:2", 2}},
         {owner_at("t.py:2", 2), owner_at("t.py:1", 1)}},
        {"two not found",
         {owner_at("", 3)},
         3,
         {{"t.py:1", 1}},
         {owner_at("", 2), owner_at("t.py:1", 1)}},
        {"none found", {owner_at("", 3)}, 3, {}, {owner_at("", 3)}},
        {"two added since the lookup",
         {owner_at("", 5)},
         3,
         {{"t.py:1", 3}},
         {owner_at("t.py:1", 5)}},
        {"two added since the lookup, one not found",
         {owner_at("", 5)},
         3,
         {{"t.py:1", 2}},
         {owner_at("", 3), owner_at("t.py:1", 2)}},
        {"known site",
         {owner_at("t.py:1", 4), owner_at("", 2)},
         2,
         {{"t.py:1", 2}},
         {owner_at("t.py:1", 6)}},
        {"other owner", other, 1, {{"t.py:1", 1}}, other},
        {"other site", {owner_at("t.py:2", 1)}, 1, {{"t.py:1", 1}}, {owner_at("t.py:2", 1)}},
    };
    for (const auto& one : cases) {
        model::Finding stored = finding("a", 8, one.stored);
        PlacedOwners placed{owner_at("", one.count), {}};
        for (const auto& [site, count] : one.sites) {
            placed.sites[site].owners = count;
        }
        place(stored, placed);
        EXPECT_EQ(stored.owners, one.placed) << one.description;
    }
}

TEST_F(ReportStoreTest, ShowsTheStackOfAPlacedOwnerInThePicture) {
    const std::vector<std::string> stack{"t.py:1 in make", "t.py:9"};
    model::Finding stored = finding("a", 8, {owner_at("", 1)});
    const std::uint64_t bytes = stored.owners.front().bytes;
    stored.picture.items = {{.text = "T", .detail = "", .owner = true, .bytes = bytes},
                            {.text = "U", .detail = "", .owner = true, .bytes = bytes + 1}};
    place(stored, {owner_at("", 1), {{"t.py:1", PlacedAt{.owners = 1, .stack = stack}}}});
    EXPECT_EQ(stored.owners.front().allocation_stack, stack);
    EXPECT_EQ(stored.picture.items[0].allocation_stack, stack);
    EXPECT_FALSE(stored.picture.items[1].allocation_stack.has_value());
}

TEST_F(ReportStoreTest, BoundsTheOwnersOfAFinding) {
    for (std::uint64_t i = 1; i <= 100; ++i) {
        store_.add(record(i), {finding("a", i, {owner(i, "A.w")})});
    }
    const model::Finding merged = first();
    EXPECT_EQ(merged.owners.size(), model::kMaxOwnersPerFinding);
    EXPECT_EQ(merged.owners[0].bytes, 100U);
    EXPECT_GT(merged.omitted_owners, 0U);
}

TEST_F(ReportStoreTest, SnapshotIsSortedAndCountsAllReleasedBytes) {
    store_.add(record(1, 100), {finding("a", 1), finding("b", 9), finding("c", 5)});
    store_.add(record(2, 7), {});
    store_.note("one");
    store_.note("two");
    store_.note("one");
    store_.set_note("state", "now so");
    store_.set_note("other", "true for a while");
    store_.set_note("other", "");
    store_.set_note("state", "now different");
    const model::Report report = store_.snapshot({});
    const auto& findings = report.findings;
    EXPECT_EQ(findings[0].signature + findings[1].signature + findings[2].signature, "bca");
    EXPECT_EQ(report.retained_bytes, 107U);
    EXPECT_THAT(report.notes, ::testing::ElementsAre("one", "two", "now different"));
}

TEST_F(ReportStoreTest, RecordsTheFindingsOfEachCollection) {
    std::vector<model::Finding> many{finding("b", 5), finding("a", 9), finding("b", 7)};
    for (std::size_t i = 0; i < model::kMaxPartsPerCollection; ++i) {
        many.push_back(finding("light" + std::to_string(i), 1));
    }
    store_.add(record(1), std::move(many));
    const auto parts = store_.snapshot({}).collections.at(0).findings;
    ASSERT_EQ(parts.size(), model::kMaxPartsPerCollection);
    EXPECT_EQ(parts[0], (model::FindingPart{"b", 2, 12}));
    EXPECT_EQ(parts[1], (model::FindingPart{"a", 1, 9}));
    EXPECT_EQ(parts[2].retained_bytes, 1U);
}

TEST_F(ReportStoreTest, DoesNotMergeIgnoredFindingsWithNewOnes) {
    model::Finding ignored = cut_at("a", "m.py:1");
    ignored.status = model::Status::ignored;
    store_.add(record(1), {ignored});
    EXPECT_EQ(store_.add(record(2), {cut_at("b", "m.py:1")}).fresh.size(), 1U);
    EXPECT_EQ(store_.add(record(3), {cut_at("a", "m.py:1")}).seen.size(), 1U);
}

TEST_F(ReportStoreTest, BoundsTheRecordsOfCollectionsWithOwners) {
    for (std::uint64_t i = 1; i <= model::kMaxCollectionRecords + 5; ++i) {
        store_.add(record(i), {});
    }
    model::CollectionRecord without_owners = record(9999);
    without_owners.owners = 0;
    store_.add(without_owners, {});
    const model::Report report = store_.snapshot({});
    EXPECT_LE(report.collections.size(), model::kMaxCollectionRecords);
    EXPECT_EQ(report.collections.size() + report.omitted_collections,
              model::kMaxCollectionRecords + 5);
    EXPECT_EQ(report.collections.front().number, 1U);
    EXPECT_EQ(report.collections.back().number, model::kMaxCollectionRecords + 5);
}

TEST_F(ReportStoreTest, BoundsTheFindings) {
    for (std::size_t i = 0; i < kMaxFindings + 3; ++i) {
        const Added added = store_.add(record(1), {finding("s" + std::to_string(i), 1)});
        EXPECT_EQ(added.fresh.size(), i < kMaxFindings ? 1U : 0U);
    }
    store_.add(record(2), {finding("s0", 1)});  // known findings are still counted
    const model::Report report = store_.snapshot({});
    EXPECT_EQ(report.findings.size(), kMaxFindings);
    EXPECT_EQ(report.findings[0].signature, "s0");
    EXPECT_EQ(report.stats.findings, kMaxFindings + 3);
    ASSERT_EQ(report.notes.size(), 1U);
    EXPECT_THAT(report.notes[0], ::testing::StartsWith("3 more findings"));
}

TEST_F(ReportStoreTest, IsThreadSafe) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([this] {
            for (int i = 0; i < 200; ++i) {
                store_.add(record(1, 1), {finding("a", 1)});
                static_cast<void>(store_.snapshot({}));
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(first().occurrences, 800U);
    EXPECT_EQ(store_.snapshot({}).retained_bytes, 800U);
}

TEST_F(ReportStoreTest, SamplesOfStepsAreBoundedAndKeepThePeaks) {
    constexpr std::uint64_t kSteps = 20'000;
    for (std::uint64_t step = 0; step < kSteps; ++step) {
        store_.add_sample("cpu",
                          {.step = static_cast<std::int64_t>(step),
                           .at = static_cast<double>(step),
                           .in_use = step == 7777 ? 900U : 100U,
                           .allocated = 0,
                           .peak = step,
                           .dead = step});
    }
    const model::Report report = store_.snapshot({});
    ASSERT_TRUE(report.memory_steps);
    const model::MemorySteps& steps = report.memory_steps->front();
    ASSERT_LE(steps.steps.size(), kMaxStepSamples);
    EXPECT_GT(steps.steps.size(), kMaxStepSamples / 3);
    EXPECT_EQ(steps.steps.back(), kSteps - 1);
    const auto peak = std::ranges::find(steps.in_use, 900U);
    ASSERT_NE(peak, steps.in_use.end());
    EXPECT_EQ(steps.dead[static_cast<std::size_t>(peak - steps.in_use.begin())], 7777U);
    ASSERT_TRUE(steps.peak);
    EXPECT_EQ(*steps.peak, steps.dead);
}

TEST_F(ReportStoreTest, CensusesAddTheirSizesByCategory) {
    std::vector<model::LiveOwner> owners(3);
    for (model::LiveOwner& each : owners) {
        each.owner.device = "cpu";
        each.bytes = 10;
    }
    owners[0].category = model::OwnerCategory::gradient;
    store_.set_census({}, owners, 2, {.at = 1, .step = 5});
    EXPECT_FALSE(store_.snapshot({}).memory_steps);  // the program sets no steps
    store_.add_sample("cpu",
                      {.step = 5, .at = 1, .in_use = 100, .allocated = 0, .peak = 0, .dead = 0});
    store_.set_census({}, {}, 2, {.at = 2, .step = 6});
    const model::Report report = store_.snapshot({});
    EXPECT_TRUE(report.live_owners->empty());
    ASSERT_TRUE(report.memory_steps);
    const std::vector<model::CategorySizes>& censuses = report.memory_steps->front().censuses;
    ASSERT_EQ(censuses.size(), 2U);
    EXPECT_EQ(censuses[0], (model::CategorySizes{.step = 5, .at = 1, .gradient = 10, .other = 20}));
    EXPECT_EQ(censuses[1].total(), 0U);
}

TEST_F(ReportStoreTest, TheLatestAccountOfADeviceAndOccasionIsStored) {
    model::MemoryAccount account;
    account.device = "cpu";
    account.in_use = 1;
    store_.set_account(account);
    account.in_use = 2;
    store_.set_account(account);
    account.occasion = model::AccountOccasion::out_of_memory;
    account.in_use = 3;
    store_.set_account(account);
    const model::Report report = store_.snapshot({});
    ASSERT_EQ(report.memory->size(), 2U);
    EXPECT_EQ(report.memory->front().in_use, 2U);
    EXPECT_EQ(report.memory->back().in_use, 3U);
}

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
    for (const model::CollectionRecord& record : timeline.entries()) {
        text += (text.empty() ? "" : " ") + std::to_string(record.number);
    }
    return text;
}

TEST(Timeline, KeepsTheLargestOfEachPairBeyondTheLimit) {
    // The pairs 1-2, 3-4, 5-6, 7-8, then the latest.
    EXPECT_EQ(numbers(timeline_of(7, 6)), "1 3 5 7");
    EXPECT_EQ(numbers(timeline_of(8, 6)), "1 3 5 7 8");
    EXPECT_EQ(timeline_of(8, 6).omitted(), 3U);
}

TEST(Timeline, CoversALongRunEvenly) {
    for (const std::size_t limit : {2U, 3U, 10U, 1000U}) {
        for (const std::uint64_t length : {1000U, 4567U, 100'000U}) {
            const auto records = timeline_of(length, limit).entries();
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

}  // namespace
}  // namespace cyclewatch::report
