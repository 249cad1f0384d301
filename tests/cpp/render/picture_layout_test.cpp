// SPDX-License-Identifier: Apache-2.0
#include "render/graph/picture_layout.h"
#include "render/graph/graphviz.h"
#include "render/graph/picture_graph.h"
#include "render/picture_text.h"
#include "render/renderer.h"
#include "support/sample_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>

namespace cyclewatch::render {
namespace {

using model::Picture;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A cycle of `members`, with `owners` attached to its members in turn. The last reference of the
// cycle is cut.
Picture ring(std::uint32_t members, std::uint32_t owners) {
    Picture picture;
    for (std::uint32_t i = 0; i < members; ++i) {
        picture.items.push_back({"Member" + std::to_string(i), "pkg.mod.Member", true, false, 0});
        picture.arrows.push_back({i, (i + 1) % members, ".next_one", true, i + 1 == members});
    }
    for (std::uint32_t i = 0; i < owners; ++i) {
        picture.items.push_back({"torch.Tensor", "", false, true, 1024});
        picture.arrows.push_back({i % members, members + i, ".weights", false, false});
    }
    return picture;
}

PictureLayout laid_out(const Picture& picture) {
    return lay_out_picture(picture).value();
}

bool overlap(const PictureBox& a, const PictureBox& b) {
    return std::abs(a.centre.x - b.centre.x) < (a.width + b.width) / 2 &&
           std::abs(a.centre.y - b.centre.y) < (a.height + b.height) / 2;
}

void expect_labels_clear(const Picture& picture, const PictureLayout& layout) {
    const auto label = [&picture](const PictureLine& line) {
        std::size_t columns = 0;
        for (const std::size_t i : line.arrows) {
            columns = std::max(columns, arrow_text(picture.arrows[i]).size());
        }
        const double rows = static_cast<double>(line.arrows.size());
        return PictureBox{line.label, 6.6 * static_cast<double>(columns), rows * kLabelRow};
    };
    for (std::size_t a = 0; a < layout.lines.size(); ++a) {
        for (const PictureBox& box : layout.boxes) {
            EXPECT_FALSE(overlap(label(layout.lines[a]), box)) << "label " << a;
        }
        for (std::size_t b = a + 1; b < layout.lines.size(); ++b) {
            EXPECT_FALSE(overlap(label(layout.lines[a]), label(layout.lines[b])))
                << "labels " << a << " and " << b;
        }
    }
}

void expect_boxes_apart(const PictureLayout& layout) {
    for (std::size_t a = 0; a < layout.boxes.size(); ++a) {
        const PictureBox& box = layout.boxes[a];
        EXPECT_GE(box.centre.x - box.width / 2, 0);
        EXPECT_LE(box.centre.x + box.width / 2, layout.width);
        EXPECT_GE(box.centre.y - box.height / 2, 0);
        EXPECT_LE(box.centre.y + box.height / 2, layout.height);
        for (std::size_t b = a + 1; b < layout.boxes.size(); ++b) {
            EXPECT_FALSE(overlap(box, layout.boxes[b])) << "boxes " << a << " and " << b;
        }
    }
}

TEST(PictureLayout, KeepsBoxesApartAndInsideThePage) {
    for (const std::uint32_t members : {1U, 2U, 3U, 7U, 12U}) {
        for (const std::uint32_t owners : {0U, 1U, 5U, 16U}) {
            SCOPED_TRACE(std::to_string(members) + " members, " + std::to_string(owners));
            const Picture picture = ring(members, owners);
            const PictureLayout layout = laid_out(picture);
            ASSERT_EQ(layout.boxes.size(), members + owners);
            expect_boxes_apart(layout);
            expect_labels_clear(picture, layout);
        }
    }
}

TEST(PictureLayout, DrawsTheReferenceToCutUpwards) {
    for (const std::uint32_t cut : {0U, 1U, 2U, 3U}) {
        Picture picture = ring(4, 3);
        for (std::uint32_t i = 0; i < 4; ++i) {
            picture.arrows[i].cut = i == cut;
        }
        for (const PictureLine& line : laid_out(picture).lines) {
            const bool up = line.tip.y < line.curve.front().y;
            EXPECT_EQ(up, picture.arrows[line.arrows[0]].cut) << "cut " << cut;
        }
    }
}

TEST(PictureLayout, DrawsWidePicturesFromLeftToRight) {
    const PictureLayout layout = laid_out(ring(1, 20));
    EXPECT_LT(layout.width, 860);
    for (std::size_t i = 1; i < layout.boxes.size(); ++i) {
        EXPECT_GT(layout.boxes[i].centre.x, layout.boxes[0].centre.x);
    }
}

TEST(PictureLayout, RoutesOtherReferencesAroundObstacles) {
    Picture picture = ring(3, 1);
    for (const std::uint32_t next : {4U, 5U, 6U}) {
        picture.items.push_back({"Part", "pkg.Part", false, false, 0});
        picture.arrows.push_back({next - 1, next, ".part", false, false});
    }
    picture.arrows.push_back({6, 4, ".parent", false, true});
    picture.arrows.push_back({6, 3, ".root", false, true});
    picture.arrows.push_back({4, 3, ".tensor", false, true});
    picture.arrows.push_back({5, 1, ".owner", false, true});
    picture.arrows.push_back({5, 5, ".me", false, true});
    const PictureLayout layout = laid_out(picture);
    EXPECT_EQ(layout.lines.size(), picture.arrows.size());
    expect_boxes_apart(layout);
    expect_labels_clear(picture, layout);
}

TEST(PictureLayout, DrawsParallelReferencesAsOneLine) {
    Picture picture = ring(3, 0);
    picture.arrows.push_back({2, 0, ".also", true, true});
    picture.arrows.push_back({2, 0, ".third", false, false});
    const PictureLayout layout = laid_out(picture);
    ASSERT_EQ(layout.lines.size(), 3U);
    EXPECT_THAT(layout.lines[2].arrows, ElementsAre(2, 3, 4));
    expect_labels_clear(picture, layout);
}

double distance(Point point, const PictureBox& box) {
    return std::hypot(std::max(0.0, std::abs(point.x - box.centre.x) - box.width / 2),
                      std::max(0.0, std::abs(point.y - box.centre.y) - box.height / 2));
}

TEST(PictureLayout, RunsEveryLineFromItsHolderToItsTarget) {
    for (const Picture& picture : {ring(5, 7), ring(1, 0), ring(1, 20)}) {
        const PictureLayout layout = laid_out(picture);
        for (const PictureLine& line : layout.lines) {
            const Picture::Arrow& arrow = picture.arrows[line.arrows[0]];
            const Point base = line.curve.back();
            EXPECT_LT(distance(line.curve.front(), layout.boxes[arrow.from]), 2);
            EXPECT_LT(distance(line.tip, layout.boxes[arrow.to]), 2);
            EXPECT_EQ(line.curve.size() % 3, 1U);
            EXPECT_NEAR(std::hypot(line.tip.x - base.x, line.tip.y - base.y), 9, 2);
        }
    }
}

// Only hand-written files contain such pictures.
TEST(PictureLayout, ToleratesIrregularPictures) {
    EXPECT_TRUE(laid_out(Picture{}).boxes.empty());

    Picture forked = ring(3, 0);
    forked.arrows.push_back({0, 2, ".shortcut", true, false});
    EXPECT_EQ(laid_out(forked).lines.size(), 4U);

    Picture open = ring(3, 0);
    open.arrows.pop_back();
    EXPECT_EQ(laid_out(open).lines.size(), 2U);

    Picture no_cycle = ring(3, 2);
    for (Picture::Item& item : no_cycle.items) {
        item.on_cycle = false;
    }
    EXPECT_EQ(laid_out(no_cycle).boxes.size(), 5U);
    expect_boxes_apart(laid_out(no_cycle));
}

TEST(PictureLayout, IsBounded) {
    const Picture many = ring(10'000, 0);
    const PictureLayout layout = laid_out(many);
    EXPECT_EQ(layout.boxes.size(), kMostBoxes);
    EXPECT_EQ(layout.lines.size(), kMostBoxes - 1);
    EXPECT_EQ(undrawn_items(many), many.items.size() - kMostBoxes);

    Picture dense = ring(13, 0);
    for (std::uint32_t i = 0; i < 150; ++i) {
        dense.arrows.push_back({i % 13, i / 13, ".x" + std::to_string(i), false, false});
    }
    EXPECT_EQ(laid_out(dense).lines.size(), kMostLines);
}

// Bytes of physical memory.
double resident() {
    double total = 0;
    double pages = 0;
    std::ifstream("/proc/self/statm") >> total >> pages;
    return pages * static_cast<double>(sysconf(_SC_PAGESIZE));
}

TEST(PictureLayout, ReturnsItsMemory) {
    if (std::getenv("PYTHONMALLOC") != nullptr) {
        GTEST_SKIP() << "a sanitizer keeps freed memory (scripts/sanitize)";
    }
    const Picture picture = ring(4, 6);
    const auto draw = [&picture](int times) {
        for (int i = 0; i < times; ++i) {
            static_cast<void>(laid_out(picture));
        }
    };
    draw(100);
    const double before = resident();
    draw(1000);
    EXPECT_LT(resident() - before, 1 << 20);
}

struct ReadBack {
    int nodes = 0;
    int edges = 0;
    std::string label;  // of the first edge
};

ReadBack read_back(const std::string& dot) {
    const GraphvizSession session;
    Agraph_t* const graph = agmemread(dot.c_str());
    if (graph == nullptr) {
        return {};
    }
    std::string label = "label";
    ReadBack read{
        agnnodes(graph), agnedges(graph), agget(agfstout(graph, agfstnode(graph)), label.data())};
    agclose(graph);
    return read;
}

TEST(PictureGraph, ReadsBackAsItWasBuilt) {
    Picture picture = ring(3, 2);
    for (Picture::Arrow& arrow : picture.arrows) {
        arrow.label = R"(['a"\N&lt;'])";
    }
    picture.arrows[2].cut = false;
    const std::string dot = PictureGraph(picture).dot();
    const ReadBack read = read_back(dot);
    EXPECT_EQ(read.nodes, 5);
    EXPECT_EQ(read.edges, 5);
    EXPECT_EQ(read.label, R"( ['a"\\N&amp;lt;'] )");
}

TEST(PictureGraph, WritesTheSameTextEveryTime) {
    const std::string first = PictureGraph(ring(3, 2)).dot();
    EXPECT_NE(first, "");
    EXPECT_TRUE(PictureGraph(ring(5, 1)).lay_out().has_value());
    EXPECT_EQ(PictureGraph(ring(3, 2)).dot(), first);
}

TEST(Dot, HasOneClusterForEachFinding) {
    const model::Report report = testing::make_sample_report();
    const std::string dot = render_dot(report);
    const GraphvizSession session;
    Agraph_t* const graph = agmemread(dot.c_str());
    ASSERT_NE(graph, nullptr);
    for (std::size_t i = 0; i < report.findings.size(); ++i) {
        std::string name = "cluster_f" + std::to_string(i + 1);
        Agraph_t* const cluster = agsubg(graph, name.data(), 0);
        ASSERT_NE(cluster, nullptr) << name;
        EXPECT_EQ(agnnodes(cluster), static_cast<int>(report.findings[i].picture.items.size()));
    }
    agclose(graph);
}

TEST(Graph, IsAbandonedAfterAnException) {
    const GraphvizSession session;
    Graph graph("cyclewatch");
    EXPECT_NE(graph.dot(), "");
    EXPECT_FALSE(graph.use([](Agraph_t*) { throw std::runtime_error("Graphviz gave up"); }));
    EXPECT_EQ(graph.dot(), "");
    EXPECT_FALSE(graph.lay_out([](Agraph_t*) { FAIL(); }));

    Graph other("cyclewatch");
    EXPECT_THROW(other.use([](Agraph_t*) { throw std::bad_alloc(); }), std::bad_alloc);
    EXPECT_EQ(other.dot(), "");
}

std::string& heard() {
    static std::string text;
    return text;
}

int hear(char* message) {
    heard() += message;
    return 0;
}

// Another library may use Graphviz in the same process.
TEST(GraphvizSession, RestoresWhatItChanges) {
    const std::string locale = std::setlocale(LC_ALL, nullptr);
    static_cast<void>(laid_out(ring(2, 0)));
    const agerrlevel_t level = agseterr(AGMAX);
    const agusererrf previous = agseterrf(hear);
    ::testing::internal::CaptureStderr();
    {
        const GraphvizSession session;
        EXPECT_EQ(agmemread("digraph { a -> "), nullptr);
        EXPECT_THAT(session.messages(), HasSubstr("syntax error"));
    }
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
    EXPECT_EQ(heard(), "");
    EXPECT_EQ(agseterrf(previous), hear);
    EXPECT_EQ(agseterr(level), AGMAX);
    EXPECT_EQ(uselocale(nullptr), LC_GLOBAL_LOCALE);
    EXPECT_EQ(std::setlocale(LC_ALL, nullptr), locale);
}

TEST(GraphvizSession, IsCounted) {
    const std::size_t before = graphviz_sessions();
    static_cast<void>(laid_out(ring(2, 0)));
    EXPECT_EQ(graphviz_sessions(), before + 1);
}

}  // namespace
}  // namespace cyclewatch::render
