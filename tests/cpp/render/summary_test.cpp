// SPDX-License-Identifier: Apache-2.0
#include "render/summary.h"

#include <gtest/gtest.h>

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

TEST(Headline, ReportsSharedMemory) {
    model::Finding finding = finding_of(2, 2);
    finding.remedy.clear();
    finding.retained_bytes = 0;
    finding.shared_bytes = kMiB;
    EXPECT_EQ(headline(finding),
              "2 reference cycles through inner keep 1.0 MiB of cuda:0 memory alive, shared with "
              "objects outside any cycle.");
    finding.shared_with = 1;
    EXPECT_EQ(headline(finding),
              "2 reference cycles through inner keep 1.0 MiB of cuda:0 memory alive, shared with "
              "1 other finding.");
    finding.shared_bytes = 0;
    EXPECT_EQ(headline(finding),
              "2 reference cycles through inner lead to device memory that other objects also "
              "refer to.");
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
              "2 reference cycles kept 8.0 MiB of cuda:0 memory after its last use.");
    report.stats.skipped[model::kNotSearched] = 4;
    EXPECT_EQ(summary_sentence(report),
              "At least 2 reference cycles kept at least 8.0 MiB of cuda:0 memory after its last "
              "use.");
    report.findings.clear();
    report.devices = {"cuda"};
    EXPECT_EQ(summary_sentence(report),
              "No reference cycle that kept cuda memory alive was found in the 6 of 10 collections "
              "that the budget allowed to search.");
}

}  // namespace
}  // namespace cyclewatch::render
