// SPDX-License-Identifier: Apache-2.0
#include "report/merge.h"
#include "report/report_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <latch>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cyclewatch::report {
namespace {

using model::Report;

// The report of a rank after `collections` collections, each of which found one cycle of
// (rank + 1) bytes for each signature.
Report of_rank(int rank,
               const std::vector<std::string>& signatures,
               std::uint64_t collections = 1) {
    model::ProgramInfo program;
    program.script = "train.py";
    program.pid = 100 - rank;
    program.rank = rank;
    program.started_at = "2026-01-31T12:00:00Z";
    ReportStore store(program, {rank == 0 ? "cuda" : "cpu"});
    for (std::uint64_t number = 1; number <= collections; ++number) {
        model::CollectionRecord record;
        record.number = number;
        record.started_at = 10.0 * (rank + 1) + static_cast<double>(number);
        record.dead_for_at_most = 2;
        record.step = static_cast<std::int64_t>(number) * 5;
        record.owners = 1;
        record.released_bytes = static_cast<std::uint64_t>(rank) + 1;
        std::vector<model::Finding> findings;
        for (const std::string& signature : signatures) {
            model::Finding finding;
            finding.signature = signature;
            finding.remedy = "of rank " + std::to_string(rank);
            finding.retained_bytes = finding.largest_bytes = record.released_bytes;
            finding.occurrences = 1;
            findings.push_back(finding);
        }
        store.add(record, findings);
    }
    store.note("of any rank");
    model::Stats stats;
    stats.collections = collections;
    stats.elapsed = static_cast<double>(collections);
    stats.skipped = {{"a reason", 1}};
    return store.snapshot(stats);
}

base::Result<Report> merged(const std::vector<Report>& reports) {
    std::vector<const Report*> given;
    for (const Report& report : reports) {
        given.push_back(&report);
    }
    return merge_reports(given);
}

TEST(MergeReports, MergesEqualFindingsOfSeveralRanks) {
    const auto whole = merged({of_rank(2, {"a"}, 3), of_rank(0, {"a", "b"}, 2)});
    ASSERT_TRUE(whole.ok()) << whole.error();
    const Report& report = whole.value();
    ASSERT_EQ(report.processes.size(), 2U);
    EXPECT_EQ(report.processes[0].rank, 0);
    EXPECT_EQ(report.processes[1].rank, 2);
    ASSERT_EQ(report.findings.size(), 2U);
    const model::Finding& finding = report.findings[0];
    EXPECT_EQ(finding.signature, "a");
    EXPECT_EQ(finding.retained_bytes, 2U * 1 + 3U * 3);
    EXPECT_EQ(finding.occurrences, 5U);
    EXPECT_EQ(finding.byte_seconds, 2.0 * 11);
    EXPECT_EQ(finding.remedy, "of rank 2") << "describes the largest occurrence";
    EXPECT_EQ(finding.first_seen, 11) << "rank 0 found it first";
    EXPECT_EQ(finding.last_seen, 33);
    const std::vector<model::ProcessOccurrences> expected{{0, 2, 2, 11, 5}, {1, 3, 9, 31, 5}};
    EXPECT_EQ(finding.by_process, expected);
    EXPECT_EQ(report.findings[1].by_process.size(), 1U);
}

TEST(MergeReports, KeepsThoseMissingRanksThatNoReportContains) {
    Report gathered = of_rank(0, {"a"});
    gathered.missing_ranks = {1, 3};
    const auto some = merged({gathered, of_rank(3, {"a"})});
    ASSERT_TRUE(some.ok()) << some.error();
    EXPECT_EQ(some.value().missing_ranks, std::vector<int>{1});
    const auto all = merged({gathered, of_rank(3, {"a"}), of_rank(1, {"a"})});
    ASSERT_TRUE(all.ok()) << all.error();
    EXPECT_FALSE(all.value().missing_ranks.has_value());
}

// The report of a rank that used the device with this UUID.
Report on_device(int rank, const std::string& uuid) {
    Report report = of_rank(rank, {"a"});
    model::DeviceRecord record;
    record.device = "cuda:0";
    record.name = "H100";
    record.uuid = uuid;
    report.device_records = {record};
    return report;
}

// A report of some of the ranks of a job of `world_size` ranks.
Report of_job(int rank, int world_size, double elapsed = 1) {
    Report report = of_rank(rank, {"a"});
    report.processes.front().world_size = world_size;
    report.processes.front().elapsed = elapsed;
    return report;
}

TEST(MergeReports, NamesTheRanksOfTheJobThatNoReportContains) {
    EXPECT_EQ(merged({of_job(2, 4), of_job(0, 4)}).value().missing_ranks, (std::vector{1, 3}));
    EXPECT_EQ(merged({of_job(1, 2), of_job(0, 2)}).value().missing_ranks, std::nullopt);
    EXPECT_EQ(merged({of_job(1, 2)}).value().missing_ranks, std::vector{0});
}

TEST(MergeReports, NotesThatARankHasSeveralProcesses) {
    Report again = of_job(1, 2);
    again.processes.front().pid = 7;
    const Report report = merged({of_job(1, 2), of_job(0, 2), again}).value();
    ASSERT_EQ(report.processes.size(), 3U);
    EXPECT_THAT(report.notes, ::testing::Contains(::testing::StartsWith("Rank 1 has several")));
    EXPECT_THAT(merged({of_job(1, 2), of_job(0, 2)}).value().notes,
                ::testing::Not(::testing::Contains(::testing::HasSubstr("several"))));
}

TEST(MergeReports, RejectsAMergedReportWithOlderDataOfAProcess) {
    const Report early = merged({of_job(0, 2, 5), of_job(1, 2, 5)}).value();
    const auto mixed = merged({early, of_job(1, 2, 8)});
    ASSERT_FALSE(mixed.ok());
    EXPECT_THAT(mixed.error(), ::testing::HasSubstr("older data of rank 1 than another report"));
    EXPECT_TRUE(merged({early, of_job(1, 2, 5)}).ok());
    EXPECT_TRUE(merged({early, of_job(1, 2, 3)}).ok());
    // All of its ranks have newer reports.
    EXPECT_TRUE(merged({early, of_job(0, 2, 7), of_job(1, 2, 8)}).ok());
}

TEST(MergeReports, IgnoresThatFilesStoreRoundedTimes) {
    Report stored = of_job(0, 2, 5);
    Report original = of_job(0, 2, 5.0000004);
    stored.stats.elapsed = 5.2;
    original.stats.elapsed = 5.1;
    EXPECT_TRUE(merged({stored, original}).ok());
    Report later = of_job(0, 2, 6);
    later.stats.elapsed = 5;
    EXPECT_EQ(merged({stored, later}).value().processes.front().elapsed, 6);
    EXPECT_TRUE(merged({merged({stored, of_job(1, 2)}).value(), original}).ok());
}

TEST(MergeReports, UsesAMergedReportThatIsNewerThanThoseOfItsRanks) {
    Report last = of_rank(1, {"a"}, 3);
    last.processes.front().elapsed = 9;
    const Report both = merged({of_job(0, 2, 5), last}).value();
    // Rank 1 was killed before it wrote its last report.
    const Report report = merged({both, of_job(0, 2, 5), of_job(1, 2, 5)}).value();
    EXPECT_EQ(report.processes[1].elapsed, 9);
    EXPECT_EQ(report.findings.front().occurrences, 4U);
    const auto conflict = merged({both, of_job(0, 2, 6), of_job(1, 2, 5)});
    ASSERT_FALSE(conflict.ok());
    EXPECT_THAT(conflict.error(), ::testing::HasSubstr("older data of rank 0"));
}

TEST(MergeReports, DistinguishesProcessesOfSeveralHosts) {
    Report first = of_rank(0, {"a"});
    Report second = first;
    first.processes.front().host = "1";
    second.processes.front().host = "2";
    EXPECT_EQ(merged({first, second}).value().processes.size(), 2U);
}

TEST(MergeReports, NotesThatRanksUsedTheSameDevice) {
    const auto whole = merged({on_device(3, "aa"), on_device(0, "bb"), on_device(1, "aa")});
    ASSERT_TRUE(whole.ok()) << whole.error();
    const Report& report = whole.value();
    ASSERT_EQ(report.device_records->size(), 3U);
    for (std::uint32_t process = 0; process < 3; ++process) {
        EXPECT_EQ((*report.device_records)[process].process, process);
    }
    EXPECT_EQ((*report.device_records)[0].uuid, "bb");
    EXPECT_THAT(report.notes, ::testing::Contains("Ranks 1 and 3 used the same device (H100)."));
    const auto separate = merged({on_device(0, "aa"), on_device(1, "bb"), on_device(-1, "bb")});
    EXPECT_EQ(separate.value().notes.size(), 1U);
    const auto unknown = merged({on_device(0, ""), on_device(1, "")});
    EXPECT_EQ(unknown.value().notes.size(), 1U);
}

TEST(MergeReports, AddsUpStatistics) {
    const auto whole = merged({of_rank(0, {"a"}, 2), of_rank(1, {"b"}, 3)});
    ASSERT_TRUE(whole.ok()) << whole.error();
    const Report& report = whole.value();
    EXPECT_EQ(report.retained_bytes, 2U * 1 + 3U * 2);
    EXPECT_EQ(report.stats.collections, 5U);
    EXPECT_EQ(report.stats.elapsed, 5);
    EXPECT_EQ(report.stats.findings, 2U);
    EXPECT_EQ(report.stats.skipped.at("a reason"), 2U);
    EXPECT_THAT(report.devices, ::testing::ElementsAre("cuda", "cpu"));
    EXPECT_THAT(report.notes, ::testing::ElementsAre("of any rank"));
    std::string lines;
    for (const model::CollectionRecord& record : report.collections) {
        lines += std::to_string(record.process) + ":" + std::to_string(record.number) + " ";
    }
    EXPECT_EQ(lines, "0:1 0:2 1:1 1:2 1:3 ");
}

TEST(MergeReports, DoesNotDependOnTheOrderOfReports) {
    const Report a = of_rank(0, {"x", "y"}, 2);
    const Report b = of_rank(1, {"y", "z"}, 5);
    const Report c = of_rank(2, {"z", "x"}, 3);
    const Report whole = merged({a, b, c}).value();
    EXPECT_EQ(merged({c, b, a}).value(), whole);
    EXPECT_EQ(merged({merged({a, b}).value(), c}).value(), whole);
    EXPECT_EQ(merged({c, merged({b, a}).value()}).value(), whole);
}

TEST(MergeReports, CountsAProcessOnceInItsLatestState) {
    const Report early = of_rank(0, {"a"}, 2);
    const Report late = of_rank(0, {"a"}, 7);
    const Report other = of_rank(1, {"a"}, 1);
    const Report whole = merged({late, other}).value();
    EXPECT_EQ(merged({late, other, late}).value(), whole) << "a file named twice";
    EXPECT_EQ(merged({early, other, late}).value(), whole);
    EXPECT_EQ(merged({late, early, other}).value(), whole);
    const Report outdated = merged({early, other}).value();
    EXPECT_EQ(merged({outdated, late, other}).value(), whole) << "an outdated merged report";
    EXPECT_EQ(merged({whole, other}).value(), whole);
}

TEST(MergeReports, RejectsOverlappingMergedReports) {
    const Report a = of_rank(0, {"x"});
    const Report b = of_rank(1, {"x"});
    const Report c = of_rank(2, {"x"});
    const Report ab = merged({a, b}).value();
    const Report bc = merged({b, c}).value();
    const auto whole = merged({ab, bc});
    ASSERT_FALSE(whole.ok());
    EXPECT_THAT(whole.error(), ::testing::HasSubstr("some of their processes in common"));
    EXPECT_TRUE(merged({ab, bc, a, b, c}).ok()) << "the originals are given as well";
    EXPECT_THAT(merged({}).error(), ::testing::HasSubstr("no reports"));
}

TEST(MergeReports, DistinguishesRanksWithTheSameProcessId) {
    Report one = of_rank(0, {"x"});
    Report two = of_rank(1, {"x"});
    one.processes[0].pid = two.processes[0].pid = 7;
    EXPECT_EQ(merged({one, two}).value().processes.size(), 2U);
}

TEST(MergeReports, BoundsRecordsAndFindings) {
    std::vector<Report> reports;
    for (int rank = 0; rank < 50; ++rank) {
        reports.push_back(of_rank(rank, {"x", "only " + std::to_string(rank)}, 200));
    }
    reports.push_back(of_rank(50, {}));
    for (std::size_t i = 0; i < kMaxFindings; ++i) {
        reports.back().findings.emplace_back().signature = std::to_string(i);
    }
    const Report whole = merged(reports).value();
    EXPECT_LE(whole.collections.size(), kMaxMergedRecords);
    EXPECT_EQ(whole.collections.size() + whole.omitted_collections, 50U * 200 + 1);
    EXPECT_EQ(whole.findings.size(), kMaxFindings);
    EXPECT_EQ(whole.findings[0].signature, "x");
    EXPECT_THAT(whole.notes, ::testing::Contains(::testing::StartsWith("51 more findings")));
}

TEST(MergeReports, MergesStatusVerdictAndNotes) {
    Report one = of_rank(0, {"x", "y"});
    Report two = of_rank(1, {"x", "y"});
    for (Report* report : {&one, &two}) {
        for (model::Finding& finding : report->findings) {
            finding.status = model::Status::ignored;
            finding.status_reason = "by request";
        }
    }
    two.findings[0].status = model::Status::known;  // x
    two.findings[0].status_reason = "in the baseline";
    two.findings[0].verdict = model::Verdict::bug;
    two.findings[0].note = "ask Ada";
    one.findings[1].verdict = model::Verdict::bug;  // y
    one.findings[1].note = "ask Ada";
    two.findings[1].verdict = model::Verdict::accepted;
    two.findings[1].note = "ask Bob";
    const Report whole = merged({one, two}).value();
    const model::Finding& x = whole.findings[0];
    EXPECT_EQ(x.status, model::Status::known);
    EXPECT_EQ(x.status_reason, "in the baseline");
    EXPECT_EQ(x.verdict, model::Verdict::bug);
    EXPECT_EQ(x.note, "ask Ada");
    const model::Finding& y = whole.findings[1];
    EXPECT_EQ(y.status_reason, "by request");
    EXPECT_EQ(y.verdict, model::Verdict::unclear);
    EXPECT_EQ(y.note, "ask Ada\nask Bob");
}

TEST(MergeReports, MergesFindingsWithTheSameCauseAndTheirParts) {
    std::vector<Report> reports{of_rank(0, {"b"}), of_rank(1, {"a"})};
    for (Report& report : reports) {
        model::Finding& finding = report.findings[0];
        finding.pattern = "back-pointer";
        model::Reference cut;
        cut.holder = finding.signature;
        cut.label = ".parent";
        cut.location = "m.py:1";
        finding.cycle = finding.cut = {cut};
    }
    const base::Result<Report> result = merged(reports);
    ASSERT_TRUE(result);
    ASSERT_EQ(result.value().findings.size(), 1U);
    const model::Finding& finding = result.value().findings[0];
    EXPECT_EQ(finding.signature, "b");
    EXPECT_EQ(finding.variants.size(), 2U);
    EXPECT_EQ(finding.by_process.size(), 2U);
    for (const model::CollectionRecord& record : result.value().collections) {
        EXPECT_EQ(record.findings.at(0).signature, "b");
    }
}

std::vector<const Report*> pointers(const std::vector<Report>& reports) {
    std::vector<const Report*> all;
    for (const Report& report : reports) {
        all.push_back(&report);
    }
    return all;
}

TEST(MergeFiles, EqualsMergeReports) {
    std::vector<Report> reports;
    for (int at = 0; at < 40; ++at) {
        // Which rank describes a finding depends on the order of equal ones.
        const int rank = at * 7 % 40;
        Report report = of_rank(rank, {"a", "b" + std::to_string(rank % 3)}, 2);
        for (model::Finding& finding : report.findings) {
            finding.largest_bytes = 5;
        }
        reports.push_back(std::move(report));
    }
    const std::vector<std::size_t> order = merge_order(pointers(reports));
    ASSERT_EQ(order.size(), reports.size());
    std::vector<Report> starts(reports.size());
    for (std::size_t at = 0; at < order.size(); ++at) {
        starts[at].processes = reports[order[at]].processes;
    }
    for (const std::size_t threads : {1U, 3U}) {
        // The first report is the last one of three to be loaded.
        std::latch others(2);
        const auto load = [&](std::size_t at) {
            if (threads == 3 && at < 3) {
                at == 0 ? others.wait() : others.count_down();
            }
            return std::optional(reports[order[at]]);
        };
        EXPECT_EQ(merge_files(pointers(starts), load, threads), merged(reports).value());
    }
}

TEST(MergeFiles, FailsIfAReportIsMissingOrAnother) {
    const std::vector<Report> reports{of_rank(0, {"a"}), of_rank(1, {"a"}), of_rank(2, {"a"})};
    const auto missing = [&](std::size_t at) {
        return at == 1 ? std::nullopt : std::optional(reports[at]);
    };
    EXPECT_FALSE(merge_files(pointers(reports), missing, 3));
    const auto wrong = [&](std::size_t) { return std::optional(reports[0]); };
    EXPECT_FALSE(merge_files(pointers(reports), wrong, 2));
    const auto throwing = [](std::size_t) -> std::optional<Report> { throw std::bad_alloc(); };
    EXPECT_THROW((void)merge_files(pointers(reports), throwing, 2), std::bad_alloc);
}

TEST(MergeOrder, IsEmptyIfAProcessOccursTwice) {
    const std::vector<Report> reports{of_rank(1, {"a"}), of_rank(0, {"a"}), of_rank(1, {"b"})};
    EXPECT_TRUE(merge_order(pointers(reports)).empty());
    const std::vector<Report> different(reports.begin(), reports.begin() + 2);
    EXPECT_EQ(merge_order(pointers(different)), (std::vector<std::size_t>{1, 0}));
}

}  // namespace
}  // namespace cyclewatch::report
