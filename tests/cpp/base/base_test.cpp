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
    EXPECT_EQ(format_bytes(0), "0 B");
    EXPECT_EQ(format_bytes(1023), "1023 B");
    EXPECT_EQ(format_bytes(1024), "1.0 KiB");
    EXPECT_EQ(format_bytes(1536), "1.5 KiB");
    EXPECT_EQ(format_bytes(200 * 1024), "200 KiB");
    EXPECT_EQ(format_bytes(3ULL << 29), "1.5 GiB");
}

TEST(FormatBytes, StepsUpRatherThanRoundTo1024) {
    EXPECT_EQ(format_bytes(1024 * 1024 - 1), "1.0 MiB");
    EXPECT_EQ(format_bytes(1023 * 1024), "1023 KiB");
    EXPECT_EQ(format_bytes(102'400 - 1), "100 KiB");
}

TEST(FormatBytes, CanSayTheLargestNumber) {
    EXPECT_EQ(format_bytes(UINT64_MAX), "16.0 EiB");
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

TEST(CallChoice, IsTheInnermostCallOfTheUser) {
    EXPECT_EQ(chosen({{"/v/site-packages/torch/nn/init.py", 1},
                      {"/usr/lib/python3.11/functools.py", 2},
                      {"/me/model.py", 3},
                      {"/me/train.py", 4}}),
              (CallSite{"/me/model.py", 3}));
}

TEST(CallChoice, IsTheInnermostCallOfAllWhereNoneIsTheUsers) {
    EXPECT_EQ(chosen({{"", 1},
                      {"/site-packages/a.py", 0},
                      {"/site-packages/b.py", 7},
                      {"/site-packages/c.py", 8}}),
              (CallSite{"/site-packages/b.py", 7}));
    EXPECT_EQ(chosen({}), CallSite{});
    EXPECT_EQ(text_of(CallSite{}), "");
    EXPECT_EQ(text_of({"/me/model.py", 3}), "/me/model.py:3");
}

TEST(StableHash, IsFnv1aWithASeparatorAndAFinish) {
    // Worked out by hand from the definition: no text at all leaves the offset basis.
    std::uint64_t basis = 0xcbf29ce484222325ULL;
    basis ^= basis >> 32;
    basis *= 0xd6e8feb86659fd93ULL;
    basis ^= basis >> 32;
    EXPECT_EQ(StableHash().value(), basis);
}

TEST(StableHash, TellsWhereOneTextEndsAndTheNextBegins) {
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
