// SPDX-License-Identifier: Apache-2.0
#include "render/svg/svg_renderer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "support/golden.h"
#include "support/hostile_names.h"
#include "support/markup_check.h"
#include "support/sample_report.h"

namespace cyclewatch::render {
namespace {

using ::testing::HasSubstr;

constexpr std::array kTags{"svg", "title", "desc", "style", "rect", "text", "g", "path"};

// The drawing without its coordinates.
std::string structure_of(const std::string& svg) {
    std::string out;
    for (std::size_t at = 0; at < svg.size();) {
        const std::size_t end = std::min(svg.find('\n', at), svg.size());
        const std::string line = svg.substr(at, end - at);
        at = end + 1;
        for (const char* kept : {"<g class=", "<title", "<text", "<desc"}) {
            if (line.starts_with(kept)) {
                const bool text = line.starts_with("<text");
                out += (text ? "  text " : "") + line.substr(text ? line.find('>') + 1 : 0) + "\n";
            }
        }
    }
    return out;
}

TEST(Svg, HasTheStructureOfTheReport) {
    const auto svg = render_svg(testing::make_sample_report());
    testing::expect_golden("report.svg.txt", structure_of(svg));
}

TEST(Svg, EscapesNames) {
    for (const std::string& name : testing::hostile_names()) {
        const auto svg = render_svg(testing::make_hostile_report(name));
        const testing::Markup markup = testing::parse_markup(svg);
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

TEST(Svg, ReportsThatNothingWasFound) {
    EXPECT_THAT(render_svg(testing::make_quiet_report()),
                HasSubstr("No reference cycle kept cuda memory"));
}

TEST(Svg, LimitsTheSizeOfAPicture) {
    model::Report report;
    model::Finding& finding = report.findings.emplace_back();
    finding.picture.items.resize(5000, {"Thing", "pkg.Thing", false, false, 0});
    for (std::uint32_t i = 0; i < 5000; ++i) {
        finding.picture.arrows.push_back({i % 70, (i * 7 + 1) % 70, ".link", false, false});
    }
    const std::string svg = render_svg(report);
    EXPECT_THAT(svg, HasSubstr("and 4,960 more objects not drawn"));
    EXPECT_LT(svg.size(), 100'000U);
}

}  // namespace
}  // namespace cyclewatch::render
