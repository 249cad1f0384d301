// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "base/byte_size.h"
#include "base/call_site.h"
#include "base/result.h"
#include "base/stable_hash.h"

namespace cyclewatch::base {
namespace {

TEST(FormatBytes, HasAtMostFourDigits) {
    const std::pair<std::uint64_t, const char*> cases[] = {
        {0, "0 B"},
        {1023, "1023 B"},
        {1024, "1.0 KiB"},
        {1536, "1.5 KiB"},
        {102'400 - 1, "100 KiB"},
        {200 * 1024, "200 KiB"},
        {1023 * 1024, "1023 KiB"},
        {1024 * 1024 - 1, "1.0 MiB"},  // not "1024 KiB"
        {3ULL << 29, "1.5 GiB"},
        {UINT64_MAX, "16.0 EiB"},
    };
    for (const auto& [bytes, text] : cases) {
        EXPECT_EQ(format_bytes(bytes), text);
    }
}

CallSite chosen(const std::vector<CallSite>& calls) {
    CallChoice choice;
    for (const CallSite& call : calls) {
        if (!choice.offer(call)) {
            break;
        }
    }
    return choice.take();
}

TEST(CallChoice, PrefersTheInnermostFrameOfUserCode) {
    EXPECT_EQ(chosen({{"/v/site-packages/torch/nn/init.py", 1},
                      {"/usr/lib/python3.11/functools.py", 2},
                      {"/me/model.py", 3},
                      {"/me/train.py", 4}}),
              (CallSite{"/me/model.py", 3}));
}

TEST(CallChoice, IsTheInnermostKnownFrameIfThereIsNoUserCode) {
    EXPECT_EQ(chosen({{"", 1},
                      {"/site-packages/a.py", 0},
                      {"/site-packages/b.py", 7},
                      {"/site-packages/c.py", 8}}),
              (CallSite{"/site-packages/b.py", 7}));
    EXPECT_EQ(chosen({}), CallSite{});
    EXPECT_EQ(text_of(CallSite{}), "");
    EXPECT_EQ(text_of({"/me/model.py", 3}), "/me/model.py:3");
}

TEST(StableHash, DependsOnTheBoundariesBetweenTexts) {
    EXPECT_NE(StableHash().add("ab").add("c").value(), StableHash().add("a").add("bc").value());
    EXPECT_NE(StableHash().add("a").value(), StableHash().add("a").add("").value());
    EXPECT_EQ(StableHash().add("a").add("b").value(), StableHash().add("a").add("b").value());
}

TEST(Result, HoldsAValueOrAnError) {
    const Result<int> value(7);
    const Result<int> error(Error{"no"});
    ASSERT_TRUE(value.ok());
    EXPECT_EQ(value.value(), 7);
    ASSERT_FALSE(error);
    EXPECT_EQ(error.error(), "no");
}

}  // namespace
}  // namespace cyclewatch::base
