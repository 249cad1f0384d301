// SPDX-License-Identifier: Apache-2.0
#include "catalog/version_range.h"

#include <gtest/gtest.h>

namespace cyclewatch::catalog {
namespace {

bool contains(const char* range, const char* version) {
    return VersionRange::parse(range).value().contains(parse_version(version).value());
}

TEST(VersionRange, HasBothItsEnds) {
    EXPECT_TRUE(contains(">=0.8.0,<0.8.2", "0.8.0"));
    EXPECT_TRUE(contains(">=0.8.0,<0.8.2", "0.8.1.post1"));
    EXPECT_FALSE(contains(">=0.8.0,<0.8.2", "0.8.2"));
    EXPECT_FALSE(contains(">=0.8.0,<0.8.2", "0.7.2"));
}

TEST(VersionRange, ComparesNumbersAndNotLetters) {
    EXPECT_TRUE(contains(">=2.9", "2.13.0+cpu"));
    EXPECT_FALSE(contains("<2.9", "2.13.0+cpu"));
}

TEST(VersionRange, KnowsEveryRelation) {
    EXPECT_TRUE(contains("==2.0", "2.0.0+cu121"));
    EXPECT_FALSE(contains("!=2.0", "2"));
    EXPECT_TRUE(contains("<=1.4", "1.4"));
    EXPECT_FALSE(contains("> 1.4", "1.4.0"));
    EXPECT_TRUE(contains("> 1.4", "1.4.1"));
}

TEST(VersionRange, PutsWhatComesBeforeAReleaseBeforeIt) {
    EXPECT_TRUE(contains("<2.0", "2.0.0rc1"));
    EXPECT_TRUE(contains("<2.0", "2.0.dev20250101+cu128"));
    EXPECT_TRUE(contains("<2.0", "2.0a3"));
    EXPECT_FALSE(contains("<2.0", "2.0+beta.build"));
}

TEST(VersionRange, RefusesWhatIsNone) {
    for (const char* text : {"", "2.0", ">=", ">=1.0,", "~=1.4", ">=x"}) {
        EXPECT_FALSE(VersionRange::parse(text).has_value()) << text;
    }
    EXPECT_FALSE(parse_version("unknown").has_value());
}

}  // namespace
}  // namespace cyclewatch::catalog
