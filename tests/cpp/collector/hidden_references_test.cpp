// SPDX-License-Identifier: Apache-2.0
#include "collector/hidden_references.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace cyclewatch::collector {
namespace {

// The members are never dereferenced.
std::array<PyObject, 3> objects{};

TEST(HiddenReferences, AreFoundByHolderInTheOrderInWhichTheyWereAdded) {
    HiddenReferences hidden;
    EXPECT_TRUE(hidden.empty());
    hidden.references.push_back({.holder = &objects[2], .target = &objects[0], .name = "late"});
    hidden.references.push_back({.holder = &objects[0], .target = &objects[1], .name = "first"});
    hidden.references.push_back({.holder = &objects[0], .target = &objects[2], .name = "second"});
    hidden.sort();
    const auto first = hidden.of(&objects[0]);
    ASSERT_EQ(first.size(), 2U);
    EXPECT_EQ(first[0].name, "first");
    EXPECT_EQ(first[1].name, "second");
    EXPECT_TRUE(hidden.of(&objects[1]).empty());
    ASSERT_EQ(hidden.of(&objects[2]).size(), 1U);
    EXPECT_FALSE(hidden.empty());
}

TEST(HiddenReferences, AreNotEmptyIfOnlyCountsAreKnown) {
    HiddenReferences hidden;
    hidden.counts.emplace_back(&objects[0], 1);
    EXPECT_FALSE(hidden.empty());
    EXPECT_TRUE(hidden.of(&objects[0]).empty());
}

}  // namespace
}  // namespace cyclewatch::collector
