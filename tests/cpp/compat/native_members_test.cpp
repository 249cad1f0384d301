// SPDX-License-Identifier: Apache-2.0
#include "compat/native_members.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>

namespace cyclewatch::test {
namespace {

// Required by binary search.
TEST(NativeMembers, TableIsSorted) {
    std::size_t count = 0;
    const cyclewatch_native_member* members = cyclewatch_all_native_members(&count);
    ASSERT_GT(count, 0U);
    for (std::size_t i = 1; i < count; ++i) {
        const auto key = [&](std::size_t row) {
            return std::tuple(std::string(members[row].type), members[row].word);
        };
        EXPECT_LT(key(i - 1), key(i));
    }
}

TEST(NativeMembers, FindsAllRowsOfAType) {
    std::size_t count = 0;
    const cyclewatch_native_member* members = cyclewatch_native_members_of("filter", &count);
    ASSERT_EQ(count, 2U);
    EXPECT_STREQ(members[0].name, "function");
    EXPECT_STREQ(members[1].name, "iterator");
    EXPECT_EQ(cyclewatch_native_members_of("no such type", &count), nullptr);
    EXPECT_EQ(count, 0U);
}

}  // namespace
}  // namespace cyclewatch::test
