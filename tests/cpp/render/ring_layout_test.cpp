// SPDX-License-Identifier: Apache-2.0
#include "render/ring_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace cyclewatch::render {
namespace {

using model::Picture;

// A ring of `members`, with `hanging` owners that hang off its members in turn.
Picture ring(std::uint32_t members, std::uint32_t hanging) {
    Picture picture;
    for (std::uint32_t i = 0; i < members; ++i) {
        picture.items.push_back({"Member" + std::to_string(i), "pkg.mod.Member", true, false, 0});
        picture.arrows.push_back({i, (i + 1) % members, ".next_one", true, false});
    }
    for (std::uint32_t i = 0; i < hanging; ++i) {
        picture.items.push_back({"torch.Tensor", "", false, true, 1024});
        picture.arrows.push_back({i % members, members + i, ".weights", false, false});
    }
    return picture;
}

bool overlap(const RingBox& a, const RingBox& b) {
    return std::abs(a.centre.x - b.centre.x) < (a.width + b.width) / 2 &&
           std::abs(a.centre.y - b.centre.y) < (a.height + b.height) / 2;
}

TEST(RingLayout, KeepsBoxesApartAndInsideThePage) {
    for (std::uint32_t members = 1; members <= kMaxRingMembers; ++members) {
        for (const std::uint32_t hanging : {0U, 1U, 5U, 16U}) {
            const auto layout = lay_out_ring(ring(members, hanging));
            ASSERT_TRUE(layout.has_value()) << members << " " << hanging;
            ASSERT_EQ(layout->boxes.size(), members + hanging);
            for (std::size_t a = 0; a < layout->boxes.size(); ++a) {
                const RingBox& box = layout->boxes[a];
                EXPECT_GE(box.centre.x - box.width / 2, 0);
                EXPECT_LE(box.centre.x + box.width / 2, layout->width);
                EXPECT_GE(box.centre.y - box.height / 2, 0);
                EXPECT_LE(box.centre.y + box.height / 2, layout->height);
                for (std::size_t b = a + 1; b < layout->boxes.size(); ++b) {
                    EXPECT_FALSE(overlap(box, layout->boxes[b]))
                        << members << " members, boxes " << a << " and " << b;
                }
            }
        }
    }
}

TEST(RingLayout, RunsClockwiseFromTheTop) {
    const auto layout = lay_out_ring(ring(4, 0));
    ASSERT_TRUE(layout.has_value());
    EXPECT_LT(layout->boxes[0].centre.y, layout->boxes[1].centre.y);
    EXPECT_GT(layout->boxes[1].centre.x, layout->boxes[3].centre.x);
    EXPECT_GT(layout->boxes[2].centre.y, layout->boxes[1].centre.y);
}

TEST(RingLayout, HangsOwnersOutsideTheRing) {
    const auto layout = lay_out_ring(ring(3, 6));
    ASSERT_TRUE(layout.has_value());
    double left = 1e9;
    double right = -1e9;
    for (std::size_t i = 0; i < 3; ++i) {
        left = std::min(left, layout->boxes[i].centre.x - layout->boxes[i].width / 2);
        right = std::max(right, layout->boxes[i].centre.x + layout->boxes[i].width / 2);
    }
    for (std::size_t i = 3; i < 9; ++i) {
        const RingBox& owner = layout->boxes[i];
        EXPECT_TRUE(owner.centre.x + owner.width / 2 < left ||
                    owner.centre.x - owner.width / 2 > right);
    }
}

TEST(RingLayout, DrawsParallelReferencesAsOneLine) {
    Picture picture = ring(3, 0);
    picture.arrows.push_back({2, 0, ".also", true, true});
    const auto layout = lay_out_ring(picture);
    ASSERT_TRUE(layout.has_value());
    EXPECT_EQ(layout->arrows.size(), 3U);
}

TEST(RingLayout, EndsEveryArrowAtItsTarget) {
    const Picture picture = ring(5, 7);
    const auto layout = lay_out_ring(picture);
    ASSERT_TRUE(layout.has_value());
    for (const RingArrow& arrow : layout->arrows) {
        const RingBox& target = layout->boxes[picture.arrows[arrow.arrows[0]].to];
        const Point tip = arrow.curve.back();
        EXPECT_LE(std::abs(tip.x - target.centre.x), target.width / 2 + 6);
        EXPECT_LE(std::abs(tip.y - target.centre.y), target.height / 2 + 6);
        EXPECT_EQ(arrow.curve.size() % 3, 1U);
    }
}

TEST(RingLayout, RefusesWhatIsNoSimpleRing) {
    EXPECT_FALSE(lay_out_ring(Picture{}).has_value());
    EXPECT_FALSE(lay_out_ring(ring(kMaxRingMembers + 1, 0)).has_value());
    EXPECT_FALSE(lay_out_ring(ring(3, kMaxRingItems)).has_value());

    Picture forked = ring(3, 0);
    forked.arrows.push_back({0, 2, ".shortcut", true, false});
    EXPECT_FALSE(lay_out_ring(forked).has_value());

    Picture open = ring(3, 0);
    open.arrows.pop_back();
    EXPECT_FALSE(lay_out_ring(open).has_value());

    Picture two = ring(2, 0);
    two.items.push_back({"Alone", "", true, false, 0});
    two.arrows.push_back({2, 2, ".self", true, false});
    EXPECT_FALSE(lay_out_ring(two).has_value());

    Picture astray = ring(3, 0);
    astray.arrows.push_back({0, 77, ".gone", false, false});
    EXPECT_FALSE(lay_out_ring(astray).has_value());
}

}  // namespace
}  // namespace cyclewatch::render
