// SPDX-License-Identifier: Apache-2.0
#include "render/svg/svg_renderer.h"
#include "support/sample_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace cyclewatch::render {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Svg, ReportsThatNothingWasFound) {
    EXPECT_THAT(render_svg(testing::make_quiet_report()),
                HasSubstr("No unreachable cuda memory was found"));
}

TEST(Svg, ExplainsItsColours) {
    const model::Report report = testing::make_sample_report();
    for (const std::string& svg : {render_svg(report), render_svg(report.findings[0])}) {
        EXPECT_THAT(svg, HasSubstr("cut here"));
        EXPECT_THAT(svg, HasSubstr("owners of device memory"));
    }
    EXPECT_THAT(render_svg(testing::make_quiet_report()), Not(HasSubstr("cut here")));

    model::Finding no_cut = report.findings[0];
    for (model::Picture::Arrow& arrow : no_cut.picture.arrows) {
        arrow.cut = false;
    }
    EXPECT_THAT(render_svg(no_cut), Not(HasSubstr("cut here")));
    EXPECT_THAT(render_svg(no_cut), HasSubstr("the cycle"));
}

TEST(Svg, DrawsObjectsWithHiddenReferencesInAnotherShape) {
    constexpr const char* kHexagon = "<path class=\"box\"";
    constexpr const char* kLegend = "references hidden from the collector";
    model::Finding finding = testing::make_sample_report().findings[0];
    EXPECT_THAT(render_svg(finding), AllOf(Not(HasSubstr(kHexagon)), Not(HasSubstr(kLegend))));
    finding.picture.items[0].text = "MulBackward0";
    finding.picture.items[0].hides_references = true;
    EXPECT_THAT(render_svg(finding),
                AllOf(HasSubstr(kHexagon),
                      HasSubstr(kLegend),
                      HasSubstr("The collector does not see all references of MulBackward0.")));
}

TEST(Svg, IsTheSameOnManyThreads) {
    const model::Report report = testing::make_sample_report();
    const std::string expected = render_svg(report);
    std::atomic<int> same{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
        threads.emplace_back([&] {
            for (int round = 0; round < 20; ++round) {
                same += render_svg(report) == expected ? 1 : 0;
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(same, 8 * 20);
}

// The child needs Graphviz's mutex and tables in a consistent state.
TEST(Svg, CanBeDrawnInAChildForkedWhileAnotherThreadDraws) {
    const model::Report report = testing::make_sample_report();
    const std::string expected = render_svg(report);
    std::atomic<bool> stop{false};
    std::thread drawer([&] {
        while (!stop) {
            EXPECT_EQ(render_svg(report), expected);
        }
    });
    for (int round = 0; round < 8; ++round) {
        const pid_t child = fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            alarm(60);  // so that a deadlock fails the test
            _exit(render_svg(report) == expected ? 0 : 1);
        }
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    }
    stop = true;
    drawer.join();
}

}  // namespace
}  // namespace cyclewatch::render
