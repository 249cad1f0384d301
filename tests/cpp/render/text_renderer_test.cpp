// SPDX-License-Identifier: Apache-2.0
#include "render/renderer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "base/text.h"
#include "model/cycle_gap.h"
#include "support/sample_report.h"

namespace cyclewatch::render {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
        lines.push_back(line);
    }
    return lines;
}

// A finding with all parts, all of them long.
model::Finding overfull_finding() {
    model::Finding finding = testing::make_hostile_report(std::string(300, 'w')).findings[0];
    std::string prose;
    for (int i = 0; i < 400; ++i) {
        prose += "word ";
    }
    finding.title = finding.remedy = finding.advice = finding.status_reason = prose;
    finding.shared_bytes = 1;
    finding.cut.assign(9, finding.cut.front());
    finding.cut.front().reason = prose;
    finding.alternatives.assign(9, finding.alternatives.front());
    finding.cycle.assign(50, finding.cycle.front());
    finding.owners.assign(32, finding.owners.front());
    finding.variants.assign(50, testing::make_sample_report().findings[1].variants[1]);
    finding.variants.back().name = std::string(300, 'v');
    finding.omitted_owners = 1000;
    return finding;
}

TEST(Card, FitsItsLinesAndColumns) {
    for (const std::size_t width : {1U, 40U, 60U, 100U, 200U, 101U}) {
        model::Finding finding = overfull_finding();
        finding.status = width == 101 ? model::Status::ignored : model::Status::fresh;
        const auto lines = lines_of(render_card(finding, 12345, width));
        EXPECT_LE(lines.size(), kMaxCardLines);
        for (const std::string& line : lines) {
            EXPECT_LE(base::text_width(line), std::max<std::size_t>(width, 40)) << line;
        }
        EXPECT_THAT(lines.back(), HasSubstr("id"));  // the last line is never omitted
    }
}

TEST(Card, CountsOmittedStepsOfTheCycle) {
    model::Finding finding = overfull_finding();
    finding.cycle.assign(200, finding.cycle.front());
    finding.cycle[100].label = model::gap_label(4'801);
    std::string card = render_card(finding);
    EXPECT_THAT(card, HasSubstr(" more steps, back to the first"));
    EXPECT_THAT(card, HasSubstr("... 4,99"));            // of 5,000
    finding.cycle[100].label = "... more and more ...";  // not a valid label
    card = render_card(finding);
    EXPECT_THAT(card, HasSubstr("... 19"));
}

model::Finding finding_with_source(const model::SourceExcerpt& source) {
    model::Finding finding;
    finding.cut.resize(1);
    finding.cut.front().location = "train.py:10";
    finding.cut.front().source = source;
    return finding;
}

TEST(Card, ShowsTheSourceOfTheCut) {
    const std::string card =
        render_card(finding_with_source({9, 10, 9, 15, {"    if a:", "        b.c\t= d", ""}}));
    EXPECT_THAT(card,
                HasSubstr("             9 | if a:\n"
                          "          > 10 |     b.c = d\n"
                          "               |     ~~~~~~\n"
                          "    seen"));
}

TEST(Card, UnderlinesWideCharacters) {
    const std::string card = render_card(finding_with_source({1, 1, 3, 5, {"漢=éx"}}));
    EXPECT_THAT(card, HasSubstr("> 1 | 漢=éx\n              |    ~~\n"));
}

TEST(Card, ShowsOneLineForAnAlternative) {
    model::Finding finding = finding_with_source({1, 1, 0, 0, {"a"}});
    finding.alternatives.resize(2);
    finding.alternatives[0].location = finding.cut[0].location;
    finding.alternatives[1].location = "train.py:99";
    finding.alternatives[1].source = {98, 99, 5, 6, {"    x", "    y", "    z"}};
    finding.alternatives[0].source = finding.cut[0].source;
    const std::string card = render_card(finding);
    EXPECT_THAT(card, HasSubstr("train.py:99\n          > 99 | y\n"));
    EXPECT_EQ(card.find("> 1 | a"), card.rfind("> 1 | a"));  // once: both have this location
}

TEST(Card, ReducesTheSourceIfThereAreTooManyLines) {
    const model::SourceExcerpt source{43, 44, 1, 4, {"preceding", "the line", "following"}};
    model::Finding finding = testing::make_sample_report().findings[0];
    finding.cut.front().source = source;
    EXPECT_THAT(render_card(finding), HasSubstr("preceding"));
    finding.cut.assign(10, finding.cut.front());
    for (model::Reference& cut : finding.cut) {
        cut.label += std::to_string(&cut - finding.cut.data());
    }
    finding.alternatives.clear();
    const std::string card = render_card(finding);
    EXPECT_THAT(card, HasSubstr("> 44 | the line"));
    EXPECT_THAT(card, Not(HasSubstr("preceding")));
    finding = overfull_finding();
    finding.cut.front().source = source;
    EXPECT_THAT(render_card(finding), Not(HasSubstr("the line")));
}

// A finding with `count` references to cut in one package.
model::Finding finding_with_cuts(std::size_t count) {
    model::Finding finding;
    finding.signature = "cw1-00ff13d7a6c2e981";
    for (std::size_t i = 0; i < count; ++i) {
        model::Reference cut;
        cut.holder = "lib.parts.Part" + std::to_string(i);
        cut.label = ".trainer";
        cut.location = "/site/lib/parts/part" + std::to_string(i) + ".py:7";
        finding.cut.push_back(std::move(cut));
    }
    return finding;
}

TEST(Card, ListsOneChangePerLineRelativeToTheirFolder) {
    const std::string card = render_card(finding_with_cuts(3));
    EXPECT_THAT(card, HasSubstr(".trainer of lib.parts.Part0"));
    EXPECT_THAT(card, HasSubstr(" /site/lib/parts/part0.py:7\n"));
    EXPECT_THAT(
        card,
        HasSubstr("    cut   3 references in 3 locations; all of them must be cut\n    1     "));
    EXPECT_THAT(card, HasSubstr("    2     .trainer of Part1 "));
    EXPECT_THAT(card, HasSubstr(" part1.py:7\n"));
}

TEST(Card, NamesTheClassesOfTheTargetsOfAChange) {
    model::Finding finding = finding_with_cuts(2);
    finding.cut.push_back(finding.cut[1]);
    finding.cut[0].target = "lib.Network";
    finding.cut[1].target = "lib.Buses";
    finding.cut[2].target = "lib.Lines";
    const std::string card = render_card(finding);
    EXPECT_THAT(card,
                HasSubstr("    cut   3 references in 2 locations; all of them must be cut\n"));
    EXPECT_THAT(card, HasSubstr(".trainer of lib.parts.Part0 -> Network "));
    EXPECT_THAT(card, HasSubstr(".trainer of Part1 (2 references) -> one of 2 classes "));
    finding.cut[0].holder = "bound method lib.Network.run";
    EXPECT_THAT(render_card(finding), Not(HasSubstr("-> Network")));
    finding.cut[0].holder = "bound method lib.Base.run";
    EXPECT_THAT(render_card(finding), HasSubstr("-> Network"));
}

TEST(Card, ShowsAShortCycleOnlyIfThereIsOneChange) {
    for (const std::size_t count : {std::size_t{1}, std::size_t{2}}) {
        model::Finding finding = finding_with_cuts(count);
        finding.cycle.assign(2, finding.cut.front());
        EXPECT_EQ(render_card(finding).find("    cycle ") == std::string::npos, count == 2);
    }
}

TEST(Card, ListsAsManyChangesAsFit) {
    for (std::size_t count = 1; count < 40; ++count) {
        const std::string card = render_card(finding_with_cuts(count));
        std::size_t shown = 0;
        for (const std::string& line : lines_of(card)) {
            shown += line.find(".trainer of ") == std::string::npos ? 0 : 1;
        }
        if (shown == count) {
            EXPECT_THAT(card, Not(HasSubstr("more location")));
            continue;
        }
        EXPECT_THAT(card,
                    HasSubstr("and " + std::to_string(count - shown) +
                              " more locations: `cyclewatch explain cw1-00ff13d7a6c2e981 REPORT`"));
        EXPECT_THAT(card, Not(HasSubstr("and 1 more")));
        EXPECT_EQ(lines_of(card).size(), kMaxCardLines);
    }
}

TEST(Card, NamesTheBaseClassThatSetsTheAttribute) {
    model::Finding finding = finding_with_cuts(2);
    for (model::Reference& cut : finding.cut) {
        cut.base_class = "lib.base.Base";
    }
    for (int i = 0; i < 3; ++i) {
        finding.cut.push_back(finding.cut[1]);
        finding.cut.back().holder += std::to_string(i);
    }
    finding.cut[1].references = 6;
    const std::string card = render_card(finding);
    EXPECT_THAT(card, HasSubstr(".trainer of lib.parts.Part0, set in "));
    EXPECT_THAT(card, HasSubstr("part0.py:7 (class Base)\n"));
    EXPECT_THAT(card, HasSubstr(".trainer of 4 classes derived from Base (9 references) "));
    finding.cut.resize(2);
    const std::vector<std::string> lines = lines_of(render_card(finding));
    EXPECT_THAT(lines, Contains(HasSubstr("2     .trainer of Part1 (6 references), set in ")));
    EXPECT_THAT(lines, Contains(HasSubstr("part1.py:7 (class Base)")));
}

TEST(Card, WrapsALongPath) {
    model::Finding finding = finding_with_cuts(1);
    std::string path;
    for (int i = 0; i < 24; ++i) {
        path += "/folder";
    }
    finding.cut.front().location = path + "/module.py:1234";
    std::string joined;
    for (const std::string& line : lines_of(render_card(finding))) {
        joined += line.substr(std::min(line.find_first_not_of(' '), line.size()));
    }
    EXPECT_THAT(joined, HasSubstr(finding.cut.front().location));
}

TEST(Card, ShowsTheCostOfTheFix) {
    model::Finding finding = finding_with_cuts(1);
    finding.advice = "Use a weakref.ref.";
    finding.cost = "the child must check for None";
    EXPECT_THAT(render_card(finding),
                HasSubstr("Use a weakref.ref.\n          cost: the child must check for None\n"));
}

TEST(Card, IgnoresInvalidSource) {
    const std::string without = render_card(finding_with_source({}));
    EXPECT_EQ(render_card(finding_with_source({5, 4, 1, 2, {"a", "b"}})), without);
    EXPECT_EQ(render_card(finding_with_source({5, 7, 1, 2, {"a", "b"}})), without);
    const std::uint32_t most = 4'294'967'295;
    EXPECT_THAT(render_card(finding_with_source({most, most, most, most, {"a"}})),
                HasSubstr("> 4294967295 | a"));
    EXPECT_THAT(render_card(finding_with_source({1, 1, 2, most, {"abc"}})), HasSubstr(" ~~\n"));
}

TEST(Card, AcceptsAnEmptyFinding) {
    EXPECT_THAT(render_card(model::Finding{}), HasSubstr("no reference is clearly the best"));
}

TEST(Text, EstimatesWhatTheFirstTwoFindingsFree) {
    model::Report report = testing::make_sample_report();
    EXPECT_THAT(render_text(report, 200),
                HasSubstr("Cutting the first two references below frees 306 MiB ("));
    report.findings[1].cut.push_back(report.findings[1].cut.front());
    EXPECT_THAT(render_text(report, 200), HasSubstr("the first 3 references below frees"));
    report.findings[1].cut.clear();
    EXPECT_THAT(render_text(report, 200), HasSubstr("the first reference below frees 256 MiB"));
    report.findings.resize(1);
    EXPECT_THAT(render_text(report, 200), HasSubstr("the reference below frees 256 MiB"));
}

TEST(Text, SaysAtLeastIfMemorySavedForBackwardIsFreedToo) {
    model::Report report = testing::make_sample_report();
    EXPECT_THAT(render_text(report, 200), Not(HasSubstr(" kept at least ")));
    report.findings.push_back(report.findings.back());
    report.findings.back().unowned_bytes = 0;
    EXPECT_THAT(render_text(report, 200), HasSubstr(" kept at least "));
    EXPECT_THAT(render_text(report, 200), HasSubstr("references below frees 306 MiB."))
        << "the share of the memory is not known";
    report.findings.resize(1);
    report.findings[0].unowned_bytes = 0;
    EXPECT_THAT(render_text(report, 200), HasSubstr(" kept at least "));
    EXPECT_THAT(render_text(report, 200), HasSubstr("below frees at least 256 MiB."));
    EXPECT_EQ(render_text(report, 200).find("below frees 256"), std::string::npos);
}

TEST(Text, ReportsSharedMemory) {
    model::Report report = testing::make_sample_report();
    report.findings.resize(1);
    report.findings[0].retained_bytes = 0;
    report.findings[0].shared_bytes = 4096;
    report.findings[0].shared_with = 2;
    EXPECT_THAT(render_text(report, 200),
                HasSubstr("4.0 KiB is freed once the first finding and 2 other findings are "
                          "fixed."));
    report.findings[0].shared_with = 1;
    const std::string text = render_text(report, 200);
    EXPECT_THAT(text, HasSubstr("the first finding and 1 other finding are fixed."));
    EXPECT_THAT(text, HasSubstr("#1  4.0 KiB in 64 cycles, shared with 1 other finding   ["));
    EXPECT_THAT(text, HasSubstr("; 4.0 KiB freed once this and 1 other finding are fixed"));
    report.findings[0].shared_with = 0;
    EXPECT_THAT(render_text(report, 200),
                HasSubstr("and all other objects that refer to this memory are freed."));
    report.findings[0].shared_bytes = 0;
    EXPECT_EQ(render_text(report).find("below frees"), std::string::npos);
}

TEST(Card, NamesVariants) {
    model::Finding finding = testing::make_sample_report().findings[1];
    EXPECT_THAT(render_card(finding, 1, 100),
                HasSubstr("    also  in Leaf and Root at simple.py:31 (20 cycles)\n"));
    for (int i = 0; i < 9; ++i) {
        finding.variants.push_back({"", "C" + std::to_string(i), "other", "", 1, 1});
    }
    finding.omitted_variants = 2;
    EXPECT_THAT(render_card(finding, 1, 100), HasSubstr("C0, C1, C2, C3 and 7 more (29 cycles)\n"));
    finding.omitted_variants = 0;
    finding.variants = {{"", "Leaf", finding.title, "a.py:1", 1, 1},
                        {"", "Leaf", finding.title, "b.py:2", 3, 1},
                        {"", "Leaf", finding.title, "a.py:1", 1, 1}};
    EXPECT_THAT(render_card(finding, 1, 100),
                HasSubstr("    also  in Leaf at b.py:2 (3 cycles)\n"));
    finding.variants.clear();
    EXPECT_THAT(render_card(finding, 1, 100), Not(HasSubstr("also")));
}

TEST(Text, ReportsRetainedAndSharedMemory) {
    model::Report report = testing::make_sample_report();
    report.findings.resize(1);
    report.findings[0].shared_bytes = 4096;
    report.findings[0].shared_with = 3;
    const std::string text = render_text(report, 300);
    EXPECT_THAT(text,
                HasSubstr("#1  256 MiB in 64 cycles, and 4.0 KiB shared with 3 other findings"));
    EXPECT_THAT(text,
                HasSubstr("Another 4.0 KiB is freed once the first finding and 3 other findings "
                          "are fixed."));
}

TEST(Text, ReportsThatNothingWasFound) {
    const std::string text = render_text(testing::make_quiet_report());
    EXPECT_THAT(text, HasSubstr("No unreachable cuda memory was found: 123 collections in 34.5 s"));
    EXPECT_THAT(render_text(model::Report{}), HasSubstr("No collection ran"));
    model::Report report = testing::make_quiet_report();
    report.devices = {"auto"};
    EXPECT_THAT(render_text(report), HasSubstr("No unreachable device memory was found"));
}

}  // namespace
}  // namespace cyclewatch::render
