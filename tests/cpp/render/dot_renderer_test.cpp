// SPDX-License-Identifier: Apache-2.0
#include <cgraph.h>
#include <gtest/gtest.h>

#include <string>

#include "render/picture_text.h"
#include "render/renderer.h"
#include "support/hostile_names.h"
#include "support/sample_report.h"

namespace cyclewatch::render {
namespace {

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
