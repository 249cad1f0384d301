// SPDX-License-Identifier: Apache-2.0
#include "render/svg_renderer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <thread>

#include "render/dot_renderer.h"
#include "support/golden.h"
#include "support/hostile_names.h"
#include "support/markup_check.h"
#include "support/sample_report.h"

namespace cyclewatch::render {
namespace {

using ::testing::HasSubstr;

constexpr std::array kTags{
    "svg", "title", "desc", "style", "rect", "text", "g", "path", "polygon", "polyline", "ellipse"};

// The drawing without its coordinates, which are Graphviz's to choose.
std::string structure_of(const std::string& svg) {
    std::string out;
    for (std::size_t at = 0; at < svg.size();) {
        const std::size_t end = std::min(svg.find('\n', at), svg.size());
        const std::string line = svg.substr(at, end - at);
        at = end + 1;
        for (const char* kept : {"<g id=", "<title>", "<text", "<desc>"}) {
            if (line.starts_with(kept)) {
                const bool text = line.starts_with("<text");
                const std::size_t from = text ? line.find('>') + 1 : 0;
                const std::size_t cut = line.find(" transform=");
                out += (text ? "  text " : "") + line.substr(from, cut - from) + "\n";
            }
        }
    }
    return out;
}

TEST(Svg, HasTheStructureOfTheReport) {
    const auto svg = render_svg(testing::make_sample_report());
    ASSERT_TRUE(svg.ok()) << svg.error();
    testing::expect_golden("report.svg.txt", structure_of(svg.value()));
}

TEST(Svg, TakesNothingFromTheProgramForMarkup) {
    for (const std::string& name : testing::hostile_names()) {
        const auto svg = render_svg(testing::make_hostile_report(name));
        ASSERT_TRUE(svg.ok()) << svg.error();
        const testing::Markup markup = testing::parse_markup(svg.value());
        EXPECT_EQ(markup.problem, "") << name.substr(0, 50);
        for (const testing::MarkupTag& tag : markup.tags) {
            EXPECT_NE(std::find(kTags.begin(), kTags.end(), tag.name), kTags.end()) << tag.name;
            for (const std::string& attribute : tag.attributes) {
                EXPECT_FALSE(attribute.starts_with("on") || attribute.find("href") == 0)
                    << attribute;
            }
        }
    }
}

TEST(Svg, SaysSoWhenNothingWasFound) {
    EXPECT_THAT(render_svg(testing::make_quiet_report()).value(),
                HasSubstr("No reference loop kept cuda memory"));
}

TEST(Svg, DrawsAPictureAtTheCapInBoundedSize) {
    model::Finding finding;
    finding.picture.items.resize(5000, {"Thing", "pkg.Thing", false, false, 0});
    for (std::uint32_t i = 0; i < 5000; ++i) {
        finding.picture.arrows.push_back({i % 70, (i * 7 + 1) % 70, ".link", false, false});
    }
    const auto drawing = draw_picture(finding, 1);
    ASSERT_TRUE(drawing.ok()) << drawing.error();
    EXPECT_THAT(drawing.value().body, HasSubstr("and 4940 more objects"));
    std::size_t nodes = 0;
    for (std::size_t at = drawing.value().body.find("class=\"node item"); at != std::string::npos;
         at = drawing.value().body.find("class=\"node item", at + 1)) {
        ++nodes;
    }
    EXPECT_EQ(nodes, kMaxDrawnItems);
}

TEST(Svg, ComesOutTheSameOnManyThreads) {
    const model::Report report = testing::make_sample_report();
    const std::string expected = render_svg(report).value();
    std::array<std::string, 4> drawn;
    std::vector<std::thread> threads;
    for (std::string& out : drawn) {
        threads.emplace_back([&out, &report] { out = render_svg(report).value(); });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    for (const std::string& out : drawn) {
        EXPECT_EQ(out, expected);
    }
}

TEST(Svg, CanBeDrawnInAChildForkedWhileAnotherThreadDraws) {
    const model::Report report = testing::make_sample_report();
    std::atomic<bool> stop{false};
    std::thread drawer([&] {
        while (!stop) {
            EXPECT_TRUE(render_svg(report).ok());
        }
    });
    for (int round = 0; round < 8; ++round) {
        const pid_t child = fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            alarm(30);  // a child that finds the lock taken for ever must not hang the tests
            _exit(render_svg(report).ok() ? 0 : 1);
        }
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    }
    stop = true;
    drawer.join();
}

TEST(Graphviz, ComplaintsAreCollectedAndNotPrinted) {
    ::testing::internal::CaptureStderr();
    {
        const GraphvizSession graphviz;
        agerr(AGERR, "something is %s", "wrong");
        EXPECT_THAT(graphviz.complaints(), HasSubstr("something is wrong"));
    }
    const GraphvizSession next;
    EXPECT_EQ(next.complaints(), "");
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(Dot, IsReadBackByGraphvizWhateverTheNames) {
    for (const std::string& name : testing::hostile_names()) {
        const model::Report report = testing::make_hostile_report(name);
        const auto dot = render_dot(report);
        ASSERT_TRUE(dot.ok()) << dot.error();
        const GraphvizSession graphviz;
        const GraphHandle graph(agmemread(dot.value().c_str()));
        ASSERT_NE(graph, nullptr) << graphviz.complaints();
        std::size_t items = 0;
        for (const model::Finding& finding : report.findings) {
            items += finding.picture.items.size() + (finding.picture.omitted_items > 0 ? 1 : 0);
        }
        EXPECT_EQ(static_cast<std::size_t>(agnnodes(graph.get())), items);
    }
}

}  // namespace
}  // namespace cyclewatch::render
