// SPDX-License-Identifier: Apache-2.0
#include "render/renderer.h"
#include "render/picture_text.h"
#include "support/hostile_names.h"
#include "support/sample_report.h"

#include <cgraph.h>
#include <gtest/gtest.h>
#include <string>

namespace cyclewatch::render {
namespace {

TEST(Formats, HaveNames) {
    EXPECT_EQ(format_names(), (std::vector<std::string>{"text", "json", "dot", "svg", "html"}));
    for (const std::string& name : format_names()) {
        EXPECT_TRUE(format_from_name(name).has_value());
    }
    EXPECT_FALSE(format_from_name("HTML").has_value());
    EXPECT_FALSE(format_from_name("pdf").has_value());
}

TEST(Formats, AreRecognisedBySuffix) {
    EXPECT_EQ(format_from_path("a/b.txt"), Format::text);
    EXPECT_EQ(format_from_path("report.json"), Format::json);
    EXPECT_EQ(format_from_path("x.gv"), Format::dot);
    EXPECT_EQ(format_from_path("x.dot"), Format::dot);
    EXPECT_EQ(format_from_path("x.svg"), Format::svg);
    EXPECT_EQ(format_from_path("x.htm"), Format::html);
    EXPECT_FALSE(format_from_path("x.html.gz").has_value());
    EXPECT_FALSE(format_from_path("html").has_value());
    EXPECT_FALSE(format_from_path("").has_value());
}

TEST(Golden, Json) {
    testing::expect_golden("report.json", render(testing::make_sample_report(), Format::json));
}

TEST(Golden, Dot) {
    testing::expect_golden("report.dot", render(testing::make_sample_report(), Format::dot));
}

TEST(Dot, IsParsedByGraphvizForAnyName) {
    for (const std::string& name : testing::hostile_names()) {
        const model::Report report = testing::make_hostile_report(name);
        Agraph_t* const graph = agmemread(render_dot(report).c_str());
        ASSERT_NE(graph, nullptr);
        std::size_t items = 0;
        std::size_t arrows = 0;
        for (const model::Finding& finding : report.findings) {
            items += finding.picture.items.size() + (undrawn_items(finding.picture) > 0 ? 1 : 0);
            arrows += finding.picture.arrows.size();
        }
        EXPECT_EQ(static_cast<std::size_t>(agnnodes(graph)), items);
        EXPECT_EQ(static_cast<std::size_t>(agnedges(graph)), arrows);
        agclose(graph);
    }
}

}  // namespace
}  // namespace cyclewatch::render
