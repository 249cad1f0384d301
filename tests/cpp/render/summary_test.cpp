// SPDX-License-Identifier: Apache-2.0
#include "render/summary.h"
#include "render/generations.h"

#include <gtest/gtest.h>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace cyclewatch::render {
namespace {

constexpr std::uint64_t kMiB = 1U << 20;

model::Finding finding_of(std::size_t steps, std::uint64_t occurrences) {
    model::Finding finding;
    finding.cycle.resize(steps);
    if (steps > 0) {
        finding.cycle.front().holder = "function pkg.Engine.go.<locals>.inner";
    }
    finding.occurrences = occurrences;
    finding.retained_bytes = occurrences * 4 * kMiB;
    finding.remedy = "cut inner.closure:inner (train.py:12)";
    model::OwnerSummary owner;
    owner.device = "cuda:0";
    finding.owners = {owner};
    return finding;
}

TEST(Headline, NamesTheObjectTheMemoryAndTheCut) {
    const std::string kept = "4.0 MiB of cuda:0 memory alive";
    const std::string cut = ": cut inner.closure:inner (train.py:12).";
    EXPECT_EQ(headline(finding_of(2, 1)),
              "inner is part of a reference cycle that keeps " + kept + cut);
    EXPECT_EQ(headline(finding_of(1, 1)), "inner refers to itself and keeps " + kept + cut);
    EXPECT_EQ(headline(finding_of(1, 1200)),
              "1,200 reference cycles through inner keep 4.7 GiB of cuda:0 memory alive" + cut);
    EXPECT_EQ(headline(finding_of(0, 1)), "A reference cycle keeps " + kept + cut);
    model::Finding finding = finding_of(2, 1);
    finding.cycle.front().holder = "locals() of pkg.Engine.go";
    EXPECT_EQ(headline(finding), "locals() is part of a reference cycle that keeps " + kept + cut);
}

TEST(Headline, NamesTheDeviceOnlyIfThereIsOne) {
    model::Finding finding = finding_of(2, 1);
    finding.remedy.clear();
    finding.owners.push_back(finding.owners.front());
    finding.owners.back().device = "cuda:1";
    EXPECT_EQ(headline(finding),
              "inner is part of a reference cycle that keeps 4.0 MiB of device memory alive.");
}

TEST(Headline, HasOneLineWithoutControlCharacters) {
    model::Finding finding = finding_of(0, 1);
    finding.remedy = "cut \x1b[31mred\nline";
    const std::string text = headline(finding);
    EXPECT_EQ(text.find_first_of("\x1b\n"), std::string::npos) << text;
    EXPECT_NE(text.find("red"), std::string::npos);
}

TEST(Summary, StatesThatTheTotalsAreLowerBounds) {
    model::Report report;
    report.findings = {finding_of(2, 2)};
    report.retained_bytes = report.findings.front().retained_bytes;
    report.stats.collections = 10;
    EXPECT_EQ(summary_sentence(report),
              "2 reference cycles kept 8.0 MiB of cuda:0 memory alive after its last use.");
    report.stats.skipped[model::kNotSearched] = 4;
    EXPECT_EQ(
        summary_sentence(report),
        "At least 2 reference cycles kept at least 8.0 MiB of cuda:0 memory alive after its last "
        "use.");
    report.findings.clear();
    report.devices = {"cuda"};
    EXPECT_EQ(summary_sentence(report),
              "No unreachable cuda memory was found in the 6 of 10 collections searched within the "
              "budget.");
}

TEST(Summary, BeginsWithTheMissingRanks) {
    model::Report report;
    report.processes.resize(2);
    report.processes.back().rank = 4;
    report.processes.front().rank = 0;
    const std::string rest = summary_sentence(report);
    report.missing_ranks = {1, 2, 3};
    EXPECT_EQ(summary_sentence(report), "No report from 3 of 5 ranks (1 to 3). " + rest);
    report.missing_ranks = {1, 3};
    EXPECT_EQ(summary_sentence(report), "No report from 2 of 4 ranks (1 and 3). " + rest);
    report.missing_ranks.emplace();
    for (int rank = 1; rank < 100; rank += 2) {
        report.missing_ranks->push_back(rank);
    }
    EXPECT_EQ(
        summary_sentence(report),
        "No report from 50 of 52 ranks (1, 3, 5, 7, 9, 11, 13, 15, 17, 19 and others). " + rest);
}

TEST(Summary, StatesWhatWasNotExamined) {
    model::Report report;
    report.devices = {"cuda"};
    report.stats.collections = 3;
    report.stats.scans = 1;
    report.stats.unreachable = 50;
    report.processes.resize(1);
    const std::string found =
        "No unreachable cuda memory was found: 3 collections and 1 scan in 0 s found 50 "
        "unreachable objects, none of which owned such memory.";
    EXPECT_EQ(summary_sentence(report), found) << "written by an earlier version";
    report.processes.front().unexamined = "";
    EXPECT_EQ(summary_sentence(report), found);
    report.processes.front().unexamined = "the objects at the end";
    EXPECT_EQ(summary_sentence(report), found + " Not examined: the objects at the end.");
    report.processes.resize(4);
    EXPECT_EQ(summary_sentence(report),
              found + " Not examined: the objects at the end (in 1 of 4 processes).");
}

TEST(Summary, StatesWhatMayBeNeverFreed) {
    model::Report report;
    report.devices = {"cuda"};
    report.stats.scans = 1;
    report.stats.unreachable = 50;
    report.stats.suspected_bytes = 3 << 20;
    EXPECT_EQ(summary_sentence(report),
              "3.0 MiB of cuda memory may be never freed; it is reported if the next searches find "
              "it, too: 1 scan in 0 s found 50 unreachable objects.");
}

TEST(Summary, DistinguishesScansFromCollections) {
    model::Finding finding = finding_of(2, 51);
    finding.collections = 1;
    EXPECT_TRUE(seen_sentence(finding).starts_with("51 cycles in 1 collection"));
    finding.scans = 50;
    EXPECT_TRUE(seen_sentence(finding).starts_with("51 cycles in 1 collection and 50 scans"));
    finding.collections = 0;
    EXPECT_TRUE(seen_sentence(finding).starts_with("51 cycles in 50 scans"));
}

TEST(Summary, StatesWhenTheCensusWasTaken) {
    model::Report report;
    EXPECT_EQ(census_words(report), "");
    report.censuses = {{0, 3.5, -1}};
    EXPECT_EQ(census_words(report), "3.5 s into the run");
    report.censuses = {{0, 3.5, 1200}};
    EXPECT_EQ(census_words(report), "step 1,200, 3.5 s into the run");
    report.censuses = {{0, 3.5, 1200}, {1, 3.5, 1200}};
    EXPECT_EQ(census_words(report), "step 1,200 of 2 processes");
    report.censuses = {{0, 3.5, 1200}, {1, 3.5, 1205}};
    EXPECT_EQ(census_words(report), "steps 1,200 to 1,205 of 2 processes");
}

TEST(Summary, StatesTheGrowthOfLiveTensorsIfThereIsNoCycle) {
    model::Report report;
    report.devices = {"cuda"};
    report.stats.collections = 1;
    const std::string quiet = summary_sentence(report);
    model::GrowingOwner growing;
    growing.rate = 3072;
    report.growing = {growing, growing};
    EXPECT_EQ(summary_sentence(report), quiet + " Live tensors grow by 6.0 KiB per step.");
    report.growing->back().unit = model::GrowthUnit::second;
    EXPECT_EQ(summary_sentence(report), quiet + " Live tensors grow by 3.0 KiB per step.");
    report.growing->clear();
    EXPECT_EQ(summary_sentence(report), quiet);
}

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;

model::Report make_report(std::vector<model::GenerationTotals> generations) {
    model::Report report;
    report.processes.resize(1);
    report.processes.front().unexamined = "";
    report.stats.elapsed = 100;
    report.stats.generations = std::move(generations);
    model::update_shares(report.stats);
    return report;
}

void add_finding(model::Report& report,
                 const std::string& signature,
                 model::Status status = model::Status::fresh,
                 model::Collected collected = model::Collected::yes) {
    model::Finding finding;
    finding.signature = signature;
    finding.status = status;
    finding.collected = collected;
    report.findings.push_back(finding);
}

model::Report one_of_42() {
    return make_report({{.generation = 0, .collections = 40, .seconds = 1.2},
                        {.generation = 2,
                         .collections = 2,
                         .seconds = 1.0,
                         .reclaimed = 12'345,
                         .freeing = 1,
                         .freeing_seconds = 0.3,
                         .freed_bytes = 3 * kGiB}});
}

TEST(Generations, LimitsTheNumberOfSignatures) {
    model::Report report = one_of_42();
    report.stats.generations[1].freeing = 2;
    for (const char* signature : {"cw1-a", "cw1-b", "cw1-c", "cw1-d", "cw1-e"}) {
        add_finding(report, signature);
    }
    EXPECT_EQ(collections_sentence(report),
              "40 of 42 collections freed no device memory and took 1.9 % of the run; the other "
              "2 freed 3.0 GiB: cw1-a, cw1-b, cw1-c and 2 more. Fix them, and automatic collection "
              "can be disabled.");
}

TEST(Generations, GivesNoAdviceForTheCyclesOfALibrary) {
    model::Report report = one_of_42();
    add_finding(report, "cw1-a", model::Status::library);
    EXPECT_TRUE(collections_sentence(report).ends_with("so collections are needed."))
        << collections_sentence(report);
    EXPECT_EQ(collections_sentence(report).find("can be disabled"), std::string::npos);
}

TEST(Generations, GivesNoAdviceWithoutAFinding) {
    EXPECT_EQ(collections_sentence(one_of_42()),
              "41 of 42 collections freed no device memory and took 1.9 % of the run; the other "
              "one freed 3.0 GiB.");
}

TEST(Generations, DescribesCollectionsThatFreedNoDeviceMemory) {
    EXPECT_EQ(collections_sentence(make_report({{.collections = 42, .seconds = 1.9}})),
              "None of the 42 collections freed device memory; they took 1.9 % of the run. "
              "Disabling automatic collection would not increase device memory use.");
    EXPECT_EQ(collections_sentence(make_report({{.collections = 1, .seconds = 1.9}})),
              "The only collection freed no device memory and took 1.9 % of the run. "
              "Disabling automatic collection would not increase device memory use.");
}

TEST(Generations, AdvisesToDisableCollectionOnlyIfEverythingWasExamined) {
    const model::Report clean = make_report({{.collections = 42, .seconds = 1.9}});
    const std::string advice = "Disabling automatic collection";
    EXPECT_NE(collections_sentence(clean).find(advice), std::string::npos);
    model::Report report = clean;
    report.processes.front().unexamined = "the objects at the end";
    EXPECT_EQ(collections_sentence(report).find(advice), std::string::npos);
    report.processes.front().unexamined.reset();
    EXPECT_EQ(collections_sentence(report).find(advice), std::string::npos) << "unknown";
    report = clean;
    report.stats.owners = 1;
    EXPECT_EQ(collections_sentence(report).find(advice), std::string::npos);
    report = clean;
    report.stats.skipped["scans: over budget"] = 1;
    EXPECT_EQ(collections_sentence(report).find(advice), std::string::npos);
    report = clean;
    add_finding(report, "cw1-a", model::Status::fresh, model::Collected::not_yet);
    EXPECT_EQ(collections_sentence(report).find(advice), std::string::npos);
}

TEST(Generations, DescribesCollectionsThatAllFreedDeviceMemory) {
    model::Report report =
        make_report({{.collections = 2, .seconds = 1.9, .freeing = 2, .freed_bytes = 3 * kGiB}});
    add_finding(report, "cw1-a");
    EXPECT_EQ(collections_sentence(report),
              "All 2 collections freed device memory, in total 3.0 GiB: cw1-a. Fix it, and "
              "automatic collection can be disabled.");
}

TEST(Generations, ClaimsNothingAboutCollectionsThatWereNotSearched) {
    model::Report report = make_report({{.collections = 42, .seconds = 1.9}});
    report.stats.skipped[model::kNotSearched] = 2;
    EXPECT_EQ(collections_sentence(report),
              "The budget was enough to search 40 of 42 collections, none of which freed device "
              "memory.");
    report.stats.skipped[model::kNotSearched] = 42;
    EXPECT_EQ(collections_sentence(report), "The budget was enough to search 0 of 42 collections.");
    report = one_of_42();
    add_finding(report, "cw1-a");
    report.stats.skipped[model::kNotSearched] = 1;
    EXPECT_EQ(collections_sentence(report),
              "The budget was enough to search 41 of 42 collections, which freed at least 3.0 GiB: "
              "cw1-a.");
}

TEST(Generations, SaysNothingWithoutCollections) {
    EXPECT_EQ(collections_sentence(make_report({})), "");
    EXPECT_EQ(generation_lines(make_report({})), std::vector<std::string>());
}

TEST(Generations, ListsEachGeneration) {
    model::Report report = one_of_42();
    report.stats.generations[1].examined = 400'000;
    EXPECT_EQ(generation_lines(report),
              (std::vector<std::string>{
                  "generation 0: 40 collections in 1.2 s (1.2 % of the run), 0 objects reclaimed",
                  "generation 2: 2 collections in 1.0 s (1.0 % of the run), 12,345 objects "
                  "reclaimed of 400,000 examined, 3.0 GiB of device memory freed"}));
}

}  // namespace
}  // namespace cyclewatch::render
