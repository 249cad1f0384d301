// SPDX-License-Identifier: Apache-2.0
#include "report/report_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "report/merge.h"

namespace cyclewatch::report {
namespace {

model::CollectionRecord record(std::uint64_t number, std::uint64_t released = 0) {
    model::CollectionRecord result;
    result.number = number;
    result.started_at = static_cast<double>(number);
    result.dead_for_at_most = 10.0 / static_cast<double>(number);
    result.owners = 1;
    result.released_bytes = released;
    return result;
}

model::Finding finding(const std::string& signature, std::uint64_t bytes) {
    model::Finding result;
    result.signature = signature;
    result.remedy = "keeps " + std::to_string(bytes);
    result.retained_bytes = result.largest_bytes = result.attributed_bytes = bytes;
    result.occurrences = 1;
    return result;
}

model::ProgramInfo program(const std::string& script) {
    model::ProgramInfo result;
    result.script = script;
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

ReportStore make_store() {
    return ReportStore(program("train.py"), {"cuda"});
}

TEST(ReportStore, LetsWhatIsThoughtOfItsFindingsChange) {
    ReportStore store({}, {});
    (void)store.add({}, {finding("a", 1), finding("b", 2)});
    store.revise([](model::Finding& stored) {
        if (stored.signature == "a") {
            stored.status = model::Status::ignored;
        }
    });
    const model::Report report = store.snapshot({});
    EXPECT_EQ(report.findings[0].status, model::Status::fresh);
    EXPECT_EQ(report.findings[1].status, model::Status::ignored);
}

TEST(ReportStore, TellsNewSignaturesFromKnownOnes) {
    ReportStore store = make_store();
    const Added first = store.add(record(1), {finding("a", 8), finding("b", 4)});
    EXPECT_EQ(first.fresh.size(), 2U);
    EXPECT_TRUE(first.seen.empty());
    const Added second = store.add(record(2), {finding("a", 8)});
    EXPECT_TRUE(second.fresh.empty());
    ASSERT_EQ(second.seen.size(), 1U);
    EXPECT_EQ(second.seen[0].retained_bytes, 16U) << "the merged state";
}

TEST(ReportStore, AddsUpWhatEqualFindingsHeld) {
    ReportStore store = make_store();
    store.add(record(1), {finding("a", 8)});
    store.add(record(5), {finding("a", 32)});
    store.add(record(7), {finding("a", 16)});
    const model::Finding merged = store.snapshot({}).findings.at(0);
    EXPECT_EQ(merged.retained_bytes, 56U);
    EXPECT_EQ(merged.occurrences, 3U);
    EXPECT_EQ(merged.largest_bytes, 32U);
    EXPECT_EQ(merged.collections, 3U);
    EXPECT_EQ(merged.first_collection, 1U);
    EXPECT_EQ(merged.first_seen, 1.0);
    EXPECT_EQ(merged.last_seen, 7.0);
    EXPECT_EQ(merged.dead_for_at_most, 10.0) << "the longest wait";
    EXPECT_EQ(merged.remedy, "keeps 32") << "the largest occurrence is shown";
}

TEST(ReportStore, SaysWhatTheProcessSawAndHowLongBytesWaited) {
    ReportStore store = make_store();
    model::CollectionRecord later = record(5);
    later.step = 700;
    store.add(record(2), {finding("a", 8), finding("b", 1)});
    store.add(later, {finding("a", 32)});
    const model::Finding merged = store.snapshot({}).findings.at(0);
    const std::vector<model::ProcessOccurrences> expected{{0, 2, 40, 2.0, -1}};
    EXPECT_EQ(merged.by_process, expected) << "first seen before the program told a step";
    EXPECT_EQ(merged.byte_seconds, 8 * 5.0 + 32 * 2.0);
}

TEST(ReportStore, CountsEqualOwnersAndKeepsOthersApart) {
    ReportStore store = make_store();
    model::Finding one = finding("a", 8);
    one.owners = {owner(8, "A.w", 2)};
    model::Finding two = finding("a", 8);
    two.owners = {owner(8, "A.w", 3), owner(64, "A.v")};
    store.add(record(1), {one});
    store.add(record(2), {two});
    const auto owners = store.snapshot({}).findings.at(0).owners;
    ASSERT_EQ(owners.size(), 2U);
    EXPECT_EQ(owners[0].path, "A.v") << "largest first";
    EXPECT_EQ(owners[1].count, 5U);
}

model::OwnerSummary owner_at(const std::string& site, std::uint64_t count) {
    model::OwnerSummary result = owner(8, "A.w", count);
    result.allocated_at = site;
    return result;
}

std::vector<model::OwnerSummary> merged(const std::vector<model::OwnerSummary>& first,
                                        const std::vector<model::OwnerSummary>& second) {
    ReportStore store = make_store();
    model::Finding one = finding("a", 8);
    one.owners = first;
    model::Finding two = finding("a", 8);
    two.owners = second;
    store.add(record(1), {one});
    store.add(record(2), {two});
    return store.snapshot({}).findings.at(0).owners;
}

TEST(ReportStore, CountsAnOwnerOfUnknownSiteWithThoseOfAny) {
    using Owners = std::vector<model::OwnerSummary>;
    const Owners known{owner_at("t.py:1", 2)};
    const Owners unknown{owner_at("", 3)};
    EXPECT_EQ(merged(known, unknown), Owners{owner_at("t.py:1", 5)});
    EXPECT_EQ(merged(unknown, known), Owners{owner_at("t.py:1", 5)});
    EXPECT_EQ(merged(unknown, unknown), Owners{owner_at("", 6)});
    EXPECT_EQ(merged(known, {owner_at("t.py:2", 3)}),
              (Owners{owner_at("t.py:2", 3), owner_at("t.py:1", 2)}));
}

TEST(ReportStore, CountsAnOwnerWithItsOwnSiteFirst) {
    using Owners = std::vector<model::OwnerSummary>;
    const Owners two{owner_at("", 4), owner_at("t.py:1", 2)};
    EXPECT_EQ(merged(two, {owner_at("t.py:1", 1)}),
              (Owners{owner_at("", 4), owner_at("t.py:1", 3)}));
    EXPECT_EQ(merged(two, {owner_at("", 1)}), (Owners{owner_at("", 5), owner_at("t.py:1", 2)}));
}

// What place() makes of `stored` once `count` of its owners were looked up.
std::vector<model::OwnerSummary> placed(const std::vector<model::OwnerSummary>& stored,
                                        std::uint64_t count,
                                        const std::map<std::string, std::uint64_t>& sites) {
    model::Finding one = finding("a", 8);
    one.owners = stored;
    place(one, {owner_at("", count), sites});
    return one.owners;
}

TEST(Place, ListsOwnersBySite) {
    using Owners = std::vector<model::OwnerSummary>;
    EXPECT_EQ(placed({owner_at("", 3)}, 3, {{"t.py:1", 1}, {"t.py:2", 2}}),
              (Owners{owner_at("t.py:2", 2), owner_at("t.py:1", 1)}));
    EXPECT_EQ(placed({owner_at("", 3)}, 3, {{"t.py:1", 1}}),
              (Owners{owner_at("", 2), owner_at("t.py:1", 1)}))
        << "two were not found";
    EXPECT_EQ(placed({owner_at("", 3)}, 3, {}), Owners{owner_at("", 3)});
}

TEST(Place, LetsWhatWasMetMeanwhileGoAlong) {
    using Owners = std::vector<model::OwnerSummary>;
    EXPECT_EQ(placed({owner_at("", 5)}, 3, {{"t.py:1", 3}}), Owners{owner_at("t.py:1", 5)});
    EXPECT_EQ(placed({owner_at("", 5)}, 3, {{"t.py:1", 2}}),
              (Owners{owner_at("", 3), owner_at("t.py:1", 2)}))
        << "one was not found";
}

TEST(Place, JoinsOwnersThatAreThereAlready) {
    using Owners = std::vector<model::OwnerSummary>;
    EXPECT_EQ(placed({owner_at("t.py:1", 4), owner_at("", 2)}, 2, {{"t.py:1", 2}}),
              Owners{owner_at("t.py:1", 6)});
}

TEST(Place, LeavesOtherOwnersAlone) {
    model::OwnerSummary other = owner(64, "A.v");
    EXPECT_EQ(placed({other}, 1, {{"t.py:1", 1}}), std::vector{other});
    EXPECT_EQ(placed({owner_at("t.py:2", 1)}, 1, {{"t.py:1", 1}}),
              std::vector{owner_at("t.py:2", 1)});
}

TEST(ReportStore, BoundsTheOwnersOfAFinding) {
    ReportStore store = make_store();
    for (std::uint64_t i = 1; i <= 100; ++i) {
        model::Finding one = finding("a", i);
        one.owners = {owner(i, "A.w")};
        store.add(record(i), {one});
    }
    const model::Finding merged = store.snapshot({}).findings.at(0);
    EXPECT_EQ(merged.owners.size(), model::kMaxOwnersPerFinding);
    EXPECT_EQ(merged.owners[0].bytes, 100U);
    EXPECT_GT(merged.omitted_owners, 0U);
}

TEST(ReportStore, ListsTheLargestFirst) {
    ReportStore store = make_store();
    store.add(record(1), {finding("a", 1), finding("b", 9), finding("c", 5)});
    const auto findings = store.snapshot({}).findings;
    EXPECT_EQ(findings[0].signature + findings[1].signature + findings[2].signature, "bca");
}

TEST(ReportStore, HoldsWhatAllCollectionsReleasedEvenWithoutAFinding) {
    ReportStore store = make_store();
    store.add(record(1, 100), {finding("a", 60)});
    store.add(record(2, 7), {});
    EXPECT_EQ(store.snapshot({}).retained_bytes, 107U);
}

TEST(ReportStore, SaysOfEachRecordWhichFindingsItReleased) {
    ReportStore store = make_store();
    std::vector<model::Finding> many{finding("b", 5), finding("a", 9), finding("b", 7)};
    for (std::size_t i = 0; i < model::kMaxPartsPerCollection; ++i) {
        many.push_back(finding("light" + std::to_string(i), 1));
    }
    store.add(record(1), std::move(many));
    const model::Report report = store.snapshot({});
    const auto& parts = report.collections.at(0).findings;
    ASSERT_EQ(parts.size(), model::kMaxPartsPerCollection);
    EXPECT_EQ(parts[0], (model::FindingPart{"b", 2, 12}));
    EXPECT_EQ(parts[1], (model::FindingPart{"a", 1, 9}));
    EXPECT_EQ(parts[2].retained_bytes, 1U);
}

// A finding whose reference to cut is at that location.
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

TEST(ReportStore, JoinsFindingsOfOneMistakeUnderTheSignatureThatCameFirst) {
    ReportStore store = make_store();
    store.add(record(1), {cut_at("b", "m.py:1")});
    const Added second = store.add(record(2), {cut_at("a", "m.py:1"), cut_at("c", "m.py:2")});
    ASSERT_EQ(second.fresh.size(), 1U);
    EXPECT_EQ(second.fresh[0].signature, "c");
    store.add(record(3), {cut_at("a", "m.py:1")});
    const model::Report report = store.snapshot({});
    ASSERT_EQ(report.findings.size(), 2U);
    const model::Finding& joined = report.findings[0];
    EXPECT_EQ(joined.signature, "b");
    EXPECT_EQ(joined.occurrences, 3U);
    ASSERT_EQ(joined.variants.size(), 2U);
    EXPECT_EQ(joined.variants[0].signature, "a");
    EXPECT_EQ(joined.variants[0].occurrences, 2U);
    for (const model::CollectionRecord& each : report.collections) {
        EXPECT_EQ(each.findings[0].signature, "b") << "parts belong to the stored finding";
    }
}

TEST(ReportStore, KeepsWhatIsIgnoredApartFromWhatIsNew) {
    ReportStore store = make_store();
    model::Finding ignored = cut_at("a", "m.py:1");
    ignored.status = model::Status::ignored;
    store.add(record(1), {ignored});
    EXPECT_EQ(store.add(record(2), {cut_at("b", "m.py:1")}).fresh.size(), 1U);
    EXPECT_EQ(store.add(record(3), {cut_at("a", "m.py:1")}).seen.size(), 1U);
}

TEST(ReportStore, KeepsRecordsOfTheWholeRunOfCollectionsWithOwners) {
    ReportStore store = make_store();
    for (std::uint64_t i = 1; i <= model::kMaxCollectionRecords + 5; ++i) {
        store.add(record(i), {});
    }
    model::CollectionRecord without_owners = record(9999);
    without_owners.owners = 0;
    store.add(without_owners, {});
    const model::Report report = store.snapshot({});
    EXPECT_LE(report.collections.size(), model::kMaxCollectionRecords);
    EXPECT_EQ(report.collections.size() + report.omitted_collections,
              model::kMaxCollectionRecords + 5);
    EXPECT_EQ(report.collections.front().number, 1U);
    EXPECT_EQ(report.collections.back().number, model::kMaxCollectionRecords + 5);
}

TEST(ReportStore, SaysHowManyKindsOfCyclesItCouldNotKeep) {
    ReportStore store = make_store();
    for (std::size_t i = 0; i < kMaxFindings + 3; ++i) {
        const Added added = store.add(record(1), {finding("s" + std::to_string(i), 1)});
        EXPECT_EQ(added.fresh.size(), i < kMaxFindings ? 1U : 0U);
    }
    store.add(record(2), {finding("s0", 1)});  // a known one still counts
    const model::Report report = store.snapshot({});
    EXPECT_EQ(report.findings.size(), kMaxFindings);
    EXPECT_EQ(report.findings[0].signature, "s0");
    EXPECT_EQ(report.stats.findings, kMaxFindings + 3);
    ASSERT_EQ(report.notes.size(), 1U);
    EXPECT_THAT(report.notes[0], ::testing::StartsWith("3 more findings"));
}

TEST(ReportStore, KeepsEachNoteOnce) {
    ReportStore store = make_store();
    store.note("one");
    store.note("two");
    store.note("one");
    EXPECT_THAT(store.snapshot({}).notes, ::testing::ElementsAre("one", "two"));
}

TEST(ReportStore, MayBeUsedByManyThreads) {
    ReportStore store = make_store();
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&store] {
            for (int i = 0; i < 200; ++i) {
                store.add(record(1, 1), {finding("a", 1)});
                static_cast<void>(store.snapshot({}));
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(store.snapshot({}).findings.at(0).occurrences, 800U);
    EXPECT_EQ(store.snapshot({}).retained_bytes, 800U);
}

}  // namespace
}  // namespace cyclewatch::report
