// SPDX-License-Identifier: Apache-2.0
#include "advice/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "advice/reader.h"
#include "advice/slots.h"

namespace cyclewatch::advice {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Catalog, IsValid) {
    EXPECT_THAT(read(kBuiltInJson, nullptr).problems, IsEmpty());
    EXPECT_GT(Catalog::built_in().patterns().size(), 25U);
}

TEST(Catalog, HasTextsForEveryPatternAndVariant) {
    for (const Pattern& pattern : Catalog::built_in().patterns()) {
        EXPECT_NE(pattern.words.explanation, "") << pattern.id;
        EXPECT_NE(pattern.words.advice, "") << pattern.id;
        EXPECT_EQ(Catalog::built_in().find(pattern.id), &pattern);
    }
    const Catalog& catalog = Catalog::built_in();
    EXPECT_NE(catalog.words("back-pointer", "by-type").explanation,
              catalog.words("back-pointer", "").explanation);
    EXPECT_EQ(catalog.words("back-pointer", "to-creator").advice,
              catalog.words("back-pointer", "").advice);
}

TEST(Catalog, FallsBackToTheUnknownPattern) {
    EXPECT_EQ(Catalog::built_in().find("no-such-pattern"), nullptr);
    EXPECT_THAT(Catalog::built_in().words("no-such-pattern", "odd").advice,
                HasSubstr("No known pattern"));
}

}  // namespace
}  // namespace cyclewatch::advice
