// SPDX-License-Identifier: Apache-2.0
#include "render/svg/svg_renderer.h"
#include "render/picture_text.h"
#include "render/svg/ring_layout.h"
#include "support/sample_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <string>

namespace cyclewatch::render {
namespace {

using model::Picture;
using ::testing::HasSubstr;

TEST(Svg, ReportsThatNothingWasFound) {
    EXPECT_THAT(render_svg(testing::make_quiet_report()),
                HasSubstr("No reference cycle kept cuda memory alive"));
}

// A ring of `members`, with `owners` attached to its members in turn.
Picture ring(std::uint32_t members, std::uint32_t owners) {
    Picture picture;
    for (std::uint32_t i = 0; i < members; ++i) {
        picture.items.push_back({"Member" + std::to_string(i), "pkg.mod.Member", true, false, 0});
        picture.arrows.push_back({i, (i + 1) % members, ".next_one", true, false});
    }
    for (std::uint32_t i = 0; i < owners; ++i) {
        picture.items.push_back({"torch.Tensor", "", false, true, 1024});
        picture.arrows.push_back({i % members, members + i, ".weights", false, false});
    }
    return picture;
}

bool overlap(const RingBox& a, const RingBox& b) {
    return std::abs(a.centre.x - b.centre.x) < (a.width + b.width) / 2 &&
           std::abs(a.centre.y - b.centre.y) < (a.height + b.height) / 2;
}

void expect_labels_clear(const Picture& picture, const RingLayout& layout) {
    const auto label = [&picture](const RingArrow& arrow) {
        std::size_t columns = 0;
        for (const std::size_t i : arrow.arrows) {
            columns = std::max(columns, arrow_text(picture.arrows[i]).size());
        }
        const double lines = static_cast<double>(arrow.arrows.size());
        return RingBox{arrow.label, 6.6 * static_cast<double>(columns), lines * kLabelLine};
    };
    for (std::size_t a = 0; a < layout.arrows.size(); ++a) {
        for (const RingBox& box : layout.boxes) {
            EXPECT_FALSE(overlap(label(layout.arrows[a]), box)) << "label " << a;
        }
        for (std::size_t b = a + 1; b < layout.arrows.size(); ++b) {
            EXPECT_FALSE(overlap(label(layout.arrows[a]), label(layout.arrows[b])))
                << "labels " << a << " and " << b;
        }
    }
}

void expect_boxes_apart(const RingLayout& layout) {
    for (std::size_t a = 0; a < layout.boxes.size(); ++a) {
        const RingBox& box = layout.boxes[a];
        EXPECT_GE(box.centre.x - box.width / 2, 0);
        EXPECT_LE(box.centre.x + box.width / 2, layout.width);
        EXPECT_GE(box.centre.y - box.height / 2, 0);
        EXPECT_LE(box.centre.y + box.height / 2, layout.height);
        for (std::size_t b = a + 1; b < layout.boxes.size(); ++b) {
            EXPECT_FALSE(overlap(box, layout.boxes[b])) << "boxes " << a << " and " << b;
        }
    }
}

TEST(RingLayout, KeepsBoxesApartAndInsideThePage) {
    for (std::uint32_t members = 1; members <= kMaxRingMembers; ++members) {
        for (const std::uint32_t owners : {0U, 1U, 5U, 16U}) {
            SCOPED_TRACE(std::to_string(members) + " members, " + std::to_string(owners));
            const Picture picture = ring(members, owners);
            const auto layout = lay_out_ring(picture);
            ASSERT_EQ(layout.boxes.size(), members + owners);
            expect_boxes_apart(layout);
            expect_labels_clear(picture, layout);
        }
    }
}

TEST(RingLayout, RunsClockwiseFromTheTop) {
    const auto layout = lay_out_ring(ring(4, 0));
    EXPECT_LT(layout.boxes[0].centre.y, layout.boxes[1].centre.y);
    EXPECT_GT(layout.boxes[1].centre.x, layout.boxes[3].centre.x);
    EXPECT_GT(layout.boxes[2].centre.y, layout.boxes[1].centre.y);
}

TEST(RingLayout, PlacesOwnersOutsideTheRing) {
    const auto layout = lay_out_ring(ring(3, 6));
    double left = 1e9;
    double right = -1e9;
    for (std::size_t i = 0; i < 3; ++i) {
        left = std::min(left, layout.boxes[i].centre.x - layout.boxes[i].width / 2);
        right = std::max(right, layout.boxes[i].centre.x + layout.boxes[i].width / 2);
    }
    for (std::size_t i = 3; i < 9; ++i) {
        const RingBox& owner = layout.boxes[i];
        EXPECT_TRUE(owner.centre.x + owner.width / 2 < left ||
                    owner.centre.x - owner.width / 2 > right);
    }
}

TEST(RingLayout, PlacesUnreachedItemsBesideTheirTargets) {
    Picture picture = ring(2, 1);
    picture.items.push_back({"function", "a.py:3", false, false, 0});
    picture.arrows.push_back({3, 2, "closure:weights", false, true});
    const auto layout = lay_out_ring(picture);
    const double tensor = layout.boxes[2].centre.x;
    EXPECT_GT((layout.boxes[3].centre.x - tensor) * (tensor > layout.boxes[0].centre.x ? 1 : -1),
              0);
    expect_boxes_apart(layout);
    expect_labels_clear(picture, layout);
}

TEST(RingLayout, RoutesOtherArrowsAroundObstacles) {
    Picture picture = ring(3, 1);
    for (const std::uint32_t next : {4U, 5U, 6U}) {
        picture.items.push_back({"Part", "pkg.Part", false, false, 0});
        picture.arrows.push_back({next - 1, next, ".part", false, false});
    }
    picture.arrows.push_back({6, 4, ".parent", false, true});
    picture.arrows.push_back({6, 3, ".root", false, true});
    picture.arrows.push_back({4, 3, ".tensor", false, true});
    picture.arrows.push_back({5, 1, ".owner", false, true});
    const auto layout = lay_out_ring(picture);
    EXPECT_EQ(layout.arrows.size(), picture.arrows.size());
    expect_boxes_apart(layout);
    expect_labels_clear(picture, layout);
}

TEST(RingLayout, DrawsParallelReferencesAsOneLine) {
    Picture picture = ring(3, 0);
    picture.arrows.push_back({2, 0, ".also", true, true});
    const auto layout = lay_out_ring(picture);
    EXPECT_EQ(layout.arrows.size(), 3U);
}

TEST(RingLayout, EndsEveryArrowAtItsTarget) {
    const Picture picture = ring(5, 7);
    const auto layout = lay_out_ring(picture);
    for (const RingArrow& arrow : layout.arrows) {
        const RingBox& target = layout.boxes[picture.arrows[arrow.arrows[0]].to];
        const Point tip = arrow.curve.back();
        EXPECT_LE(std::abs(tip.x - target.centre.x), target.width / 2 + 6);
        EXPECT_LE(std::abs(tip.y - target.centre.y), target.height / 2 + 6);
        EXPECT_EQ(arrow.curve.size() % 3, 1U);
    }
}

// Only hand-written files contain such pictures.
TEST(RingLayout, ToleratesIrregularRings) {
    EXPECT_TRUE(lay_out_ring(Picture{}).boxes.empty());
    EXPECT_EQ(lay_out_ring(ring(kMaxRingMembers + 1, 0)).boxes.size(), kMaxRingMembers + 1);

    Picture forked = ring(3, 0);
    forked.arrows.push_back({0, 2, ".shortcut", true, false});
    EXPECT_EQ(lay_out_ring(forked).arrows.size(), 4U);

    Picture open = ring(3, 0);
    open.arrows.pop_back();
    EXPECT_EQ(lay_out_ring(open).arrows.size(), 2U);

    Picture no_cycle = ring(3, 2);
    for (Picture::Item& item : no_cycle.items) {
        item.on_cycle = false;
    }
    EXPECT_EQ(lay_out_ring(no_cycle).boxes.size(), 5U);
    expect_boxes_apart(lay_out_ring(no_cycle));
}

}  // namespace
}  // namespace cyclewatch::render
