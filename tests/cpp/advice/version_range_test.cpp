// SPDX-License-Identifier: Apache-2.0
#include "advice/version_range.h"

#include <gtest/gtest.h>

namespace cyclewatch::advice {
namespace {

bool contains(const char* range, const char* version) {
    return VersionRange::parse(range).value().contains(parse_version(version).value());
}

TEST(VersionRange, ContainsAVersion) {
    const struct {
        const char* range;
        const char* version;
        bool contained;
    } cases[] = {
        {">=0.8.0,<0.8.2", "0.8.0", true},
        {">=0.8.0,<0.8.2", "0.8.1.post1", true},
        {">=0.8.0,<0.8.2", "0.8.2", false},
        {">=0.8.0,<0.8.2", "0.7.2", false},
        {">=2.9", "2.13.0+cpu", true},  // compares numbers
        {"<2.9", "2.13.0+cpu", false},
        {"==2.0", "2.0.0+cu121", true},
        {"!=2.0", "2", false},
        {"<=1.4", "1.4", true},
        {"> 1.4", "1.4.0", false},
        {"> 1.4", "1.4.1", true},
        {"<2.0", "2.0.0rc1", true},  // pre-releases precede the release
        {"<2.0", "2.0.dev20250101+cu128", true},
        {"<2.0", "2.0a3", true},
        {"<2.0", "2.0+beta.build", false},
    };
    for (const auto& one : cases) {
        EXPECT_EQ(contains(one.range, one.version), one.contained) << one.range << one.version;
    }
}

TEST(VersionRange, RejectsMalformedText) {
    for (const char* text : {"", "2.0", ">=", ">=1.0,", "~=1.4", ">=x"}) {
        EXPECT_FALSE(VersionRange::parse(text).has_value()) << text;
    }
    EXPECT_FALSE(parse_version("unknown").has_value());
}

}  // namespace
}  // namespace cyclewatch::advice
