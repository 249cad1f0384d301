// SPDX-License-Identifier: Apache-2.0
#include "report/growth_tracker.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cyclewatch::report {
namespace {

model::LiveOwner group(const std::string& path, std::uint64_t bytes) {
    model::LiveOwner owner;
    owner.owner.path = path;
    owner.owner.count = bytes;
    owner.bytes = bytes;
    owner.held_by.emplace_back().text = path;
    return owner;
}

// Describes the growing groups after a series of censuses of one group. Each census finds the size
// given in `sizes`; 0 means that the group is missing.
std::string growing_after(const std::vector<std::uint64_t>& sizes) {
    GrowthTracker tracker;
    double step = 0;
    for (const std::uint64_t size : sizes) {
        std::vector<model::LiveOwner> census;
        if (size > 0) {
            census.push_back(group("a", size));
        }
        tracker.add(++step, census, model::GrowthUnit::step, 0);
    }
    std::string text;
    for (const model::GrowingOwner& each : tracker.growing()) {
        text += each.held_by + " " + std::to_string(each.bytes) + " " + std::to_string(each.rate);
    }
    return text;
}

TEST(GrowthTracker, NeedsThreeRises) {
    EXPECT_EQ(growing_after({1, 2, 3, 4, 5}), "");
    EXPECT_EQ(growing_after({1, 2, 3, 4, 5, 6}), "a 6 1.000000");
    EXPECT_EQ(growing_after({0, 0, 2, 4, 6, 10}), "a 10 2.000000");
    EXPECT_EQ(growing_after({1, 1, 2, 2, 3, 4}), "a 4 0.600000");
    EXPECT_EQ(growing_after({1, 1, 1, 2, 2, 3}), "");
}

// The bytes do not change, so only the number of nodes shows that the graph of earlier steps is
// kept.
TEST(GrowthTracker, FindsGraphsThatGrowWithoutTensors) {
    GrowthTracker tracker;
    for (std::uint64_t step = 1; step <= 8; ++step) {
        std::vector<model::LiveOwner> census{group("loss", 4), group("other", 4)};
        census[0].graph_nodes = 100 * step;
        census[1].graph_nodes = 100;
        tracker.add(static_cast<double>(step), census, model::GrowthUnit::step, 1000);
    }
    const std::vector<model::GrowingOwner> growing = tracker.growing();
    ASSERT_EQ(growing.size(), 1U);
    EXPECT_EQ(growing[0].held_by, "loss");
    EXPECT_EQ(growing[0].graph_nodes, 800U);
    EXPECT_EQ(growing[0].graph_nodes_rate, 100.0);
    ASSERT_TRUE(growing[0].remedy);
    EXPECT_NE(growing[0].remedy->find(".detach()"), std::string::npos);
}

TEST(GrowthTracker, ComparesOnlyTheLastCensuses) {
    EXPECT_EQ(growing_after({1, 2, 3, 4, 5, 6, 6, 6}), "a 6 0.600000");
    EXPECT_EQ(growing_after({1, 2, 3, 4, 5, 6, 6, 6, 6}), "");
    EXPECT_EQ(growing_after({9, 9, 9, 9, 9, 9, 10, 11, 12}), "a 12 0.600000");
}

TEST(GrowthTracker, OscillationSampledOutOfPhaseIsNotGrowth) {
    EXPECT_EQ(growing_after({1, 2, 1, 3, 1, 4}), "");
    EXPECT_EQ(growing_after({3, 5, 4, 7, 2, 8}), "");
    // The new peak is not higher than an earlier one.
    EXPECT_EQ(growing_after({9, 1, 2, 3, 4, 5, 6}), "");
    EXPECT_EQ(growing_after({7, 9, 1, 3, 5, 7, 9, 1, 3, 5, 7, 8, 9}), "");
    // Each peak and each low is higher than the one before, so this is growth.
    EXPECT_EQ(growing_after({0, 6, 4, 10, 8, 14, 12, 18}), "a 18 2.800000");
}

TEST(GrowthTracker, FillingAndEmptyingIsNotGrowth) {
    EXPECT_EQ(growing_after({1, 2, 1, 2, 1, 2, 1, 2}), "");
    EXPECT_EQ(growing_after({5, 1, 2, 3, 4, 4}), "");
    EXPECT_EQ(growing_after({0, 1, 2, 3, 4, 4, 4, 4}), "");
    EXPECT_EQ(growing_after({3, 4, 5, 6, 7, 8, 1}), "");
}

TEST(GrowthTracker, AddsUpGroupsThatDifferOnlyInSize) {
    GrowthTracker tracker;
    for (std::uint64_t i = 1; i < 7; ++i) {
        const std::vector<model::LiveOwner> census{group("a", i), group("b", 1), group("a", 10)};
        tracker.add(static_cast<double>(i), census, model::GrowthUnit::second, 0);
    }
    const auto growing = tracker.growing();
    ASSERT_EQ(growing.size(), 1U);
    EXPECT_EQ(growing.front().bytes, 16U);
    EXPECT_EQ(growing.front().owner.count, 16U);
    EXPECT_EQ(growing.front().unit, model::GrowthUnit::second);
}

// A cache with one tensor for each sequence length: no two tensors have the same key and shape.
TEST(GrowthTracker, FindsContainersWhoseItemsDiffer) {
    GrowthTracker tracker;
    std::vector<model::LiveOwner> census{group("model.weight", 100)};
    for (std::uint64_t length = 1; length <= 8; ++length) {
        model::LiveOwner& item = census.emplace_back(
            group("model.cache['a]" + std::to_string(length) + "'][0]", 10 + length));
        item.owner.count = 1;
        item.owner.shape = std::to_string(10 + length);
        item.held_by.front().remedy = "remove it from `model.cache`";
        item.held_by.front().group_remedy = "remove the items of `model.cache`";
        tracker.add(static_cast<double>(length), census, model::GrowthUnit::step, 0);
    }
    const std::vector<model::GrowingOwner> growing = tracker.growing();
    ASSERT_EQ(growing.size(), 1U);
    EXPECT_EQ(growing[0].held_by, "model.cache['a]8'][0]");
    EXPECT_EQ(growing[0].owner.count, 8U);
    EXPECT_EQ(growing[0].owner.shape, "");
    EXPECT_EQ(growing[0].bytes, 116U);
    EXPECT_EQ(
        growing[0].remedy,
        "remove the items of `model.cache`; if the program needs all of it, store less in it");
}

// The results of a program grow faster than one group of the graph that should not be kept.
TEST(GrowthTracker, ListsAGraphBeforeDataThatGrowsSlightlyFaster) {
    GrowthTracker tracker;
    for (std::uint64_t step = 1; step <= 8; ++step) {
        std::vector<model::LiveOwner> census{
            group("results", 7 * step), group("state", 3 * step), group("data", 20 * step)};
        census[0].held_by.front().remedy = "call `results.clear()`";
        census[0].held_by.front().remedy_kind = model::RemedyKind::release;
        census[1].category = model::OwnerCategory::activation;
        tracker.add(static_cast<double>(step), census, model::GrowthUnit::step, 0);
    }
    const std::vector<model::GrowingOwner> growing = tracker.growing();
    ASSERT_EQ(growing.size(), 3U);
    EXPECT_EQ(growing[0].held_by, "data");
    EXPECT_EQ(growing[1].held_by, "state");
    EXPECT_EQ(growing[1].keeps_graph, true);
    EXPECT_EQ(growing[0].keeps_graph, std::nullopt);
    EXPECT_EQ(growing[2].remedy, "call `results.clear()`");
}

// `history = torch.cat([history, x])`
TEST(GrowthTracker, FindsTensorsThatAreReplacedByLargerOnes) {
    GrowthTracker tracker;
    for (std::uint64_t length = 1; length <= 8; ++length) {
        model::LiveOwner history = group("trainer.history", 10 * length);
        history.owner.shape = std::to_string(length);
        tracker.add(static_cast<double>(length), {&history, 1}, model::GrowthUnit::step, 0);
    }
    ASSERT_EQ(tracker.growing().size(), 1U);
    EXPECT_EQ(tracker.growing()[0].rate, 10.0);
}

TEST(GrowthTracker, ListsNoContainerOfAGroupThatGrows) {
    GrowthTracker tracker;
    for (std::uint64_t step = 1; step <= 8; ++step) {
        std::vector<model::LiveOwner> census{group("kept[x]['a']", step), group("kept[x]['b']", 7)};
        tracker.add(static_cast<double>(step), census, model::GrowthUnit::step, 0);
    }
    ASSERT_EQ(tracker.growing().size(), 1U);
    EXPECT_EQ(tracker.growing()[0].held_by, "kept[x]['a']");
}

// The gradients of the tensors in a dict. `key`: what the path contains instead of `label`.
model::LiveOwner group_in_dict(std::uint64_t bytes,
                               const std::string& label,
                               const std::string& key) {
    model::LiveOwner owner = group("cache" + key + ".grad", bytes);
    owner.owner.shape = "[25]";
    owner.held_by.front().references.resize(3);
    owner.held_by.front().references[1].label = label;
    return owner;
}

// A census does not distinguish the keys of a large dict.
TEST(GrowthTracker, FollowsADictThatBecomesLarge) {
    for (const bool is_hidden : {false, true}) {
        GrowthTracker tracker;
        for (std::uint64_t items = 62; items < 72; ++items) {
            std::vector<model::LiveOwner> census;
            if (items > 64) {
                census.push_back(group_in_dict(100 * items, "['a'] 0']", "[x]"));
            } else if (is_hidden) {
                census.push_back(group_in_dict(100 * items, "[<str>]", "[<str>]"));
            }
            for (std::uint64_t i = 0; i < items && items <= 64 && !is_hidden; ++i) {
                const std::string key = "['a'] " + std::to_string(i) + "']";
                census.push_back(group_in_dict(100, key, key));
            }
            tracker.add(static_cast<double>(items), census, model::GrowthUnit::step, 0);
            if (items < 67) {
                continue;  // too few censuses
            }
            ASSERT_EQ(tracker.growing().size(), 1U) << items;
            const model::GrowingOwner growing = tracker.growing().front();
            EXPECT_EQ(growing.rate, 100.0) << items;
            EXPECT_EQ(growing.bytes, 100 * items);
            EXPECT_EQ(growing.owner.shape, "[25]");
        }
    }
}

TEST(GrowthTracker, IsBounded) {
    GrowthTracker tracker;
    for (std::uint64_t i = 1; i < 7; ++i) {
        std::vector<model::LiveOwner> census;
        for (std::size_t j = 0; j < GrowthTracker::kMaxGroups + 10; ++j) {
            census.push_back(group(std::to_string(j), i));
        }
        tracker.add(static_cast<double>(i), census, model::GrowthUnit::step, 0);
    }
    EXPECT_EQ(tracker.growing().size(), GrowthTracker::kMaxGrowing);
}

}  // namespace
}  // namespace cyclewatch::report
