// SPDX-License-Identifier: Apache-2.0
#include "model/mistake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cyclewatch::model {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Reference reference(std::string holder, std::string label, std::string location = {}) {
    Reference result;
    result.holder = std::move(holder);
    result.label = std::move(label);
    result.location = std::move(location);
    return result;
}

// An object that stores one of its own bound methods.
Finding method_of(const std::string& name, const std::string& location) {
    Finding finding;
    finding.signature = "cw1-" + name;
    finding.title = name + ".call -> " + name;
    finding.pattern = "bound-method-on-self";
    finding.occurrences = 2;
    finding.retained_bytes = 8;
    finding.shared_bytes = 1;
    finding.cycle = {reference("m." + name, ".call", location),
                     reference("bound method m." + name + ".run", "__self__", "m.py:" + name)};
    finding.cut = {finding.cycle[1]};
    return finding;
}

bool same_mistake(const Finding& a, const Finding& b) {
    for (const std::string& key : mistake_keys(a)) {
        for (const std::string& other : mistake_keys(b)) {
            if (key == other) {
                return true;
            }
        }
    }
    return false;
}

TEST(MistakeKeys, LocateABoundMethodWhereItIsStored) {
    EXPECT_TRUE(same_mistake(method_of("A", "base.py:3"), method_of("B", "base.py:3")));
    EXPECT_FALSE(same_mistake(method_of("A", "base.py:3"), method_of("B", "base.py:4")));
    EXPECT_FALSE(same_mistake(method_of("A", ""), method_of("B", "")));
    Finding several = method_of("B", "base.py:3");
    several.cut.insert(several.cut.begin(), reference("bound method m.B.x", "__self__", "m.py:9"));
    EXPECT_TRUE(same_mistake(method_of("A", "base.py:3"), several));
}

TEST(MistakeKeys, CompareLabelsAndLocationsOfTheCut) {
    Finding a;
    a.pattern = "back-pointer";
    a.cut = {reference("m.A", "[0]", "m.py:1"), reference("m.A", ".x", "m.py:2")};
    Finding b = a;
    b.cut = {reference("m.B", ".x", "m.py:2"), reference("m.B", "[7]", "m.py:1")};
    EXPECT_TRUE(same_mistake(a, b));
    b.pattern = "other";
    EXPECT_FALSE(same_mistake(a, b));
    b = a;
    b.cut[1].label = ".y";
    EXPECT_FALSE(same_mistake(a, b));
    b = a;
    b.cut.front().payload = true;
    EXPECT_FALSE(same_mistake(a, b));
    a.cut.front().location.clear();
    EXPECT_THAT(mistake_keys(a), IsEmpty());
}

TEST(MistakeKeys, MatchCyclesThatDifferInOneClass) {
    Finding a;
    a.cycle = {reference("m.A", ".items"), reference("list", "[0]")};
    EXPECT_THAT(mistake_keys(a), IsEmpty());
    a.cycle.push_back(reference("m.B", ".parent"));
    Finding b = a;
    b.cycle = {reference("m.C", ".parent"), reference("m.A", ".items"), reference("list", "[5]")};
    EXPECT_TRUE(same_mistake(a, b));
    b.cycle[1].holder = "m.D";
    EXPECT_FALSE(same_mistake(a, b));
}

TEST(Variants, ListEachSignatureOnceLargestFirst) {
    Finding shown = method_of("A", "base.py:3");
    Finding other = method_of("B", "base.py:3");
    other.retained_bytes = 99;
    add_variants(shown, shown);
    EXPECT_THAT(shown.variants, IsEmpty());
    add_variants(shown, other);
    add_variants(shown, other);
    ASSERT_EQ(shown.variants.size(), 2U);
    EXPECT_EQ(shown.variants[0], (Variant{"cw1-B", "B", "B.call -> B", "base.py:3", 4, 200}));
    EXPECT_EQ(shown.variants[1], (Variant{"cw1-A", "A", "A.call -> A", "base.py:3", 2, 9}));
    EXPECT_THAT(signatures_of(shown), ElementsAre("cw1-A", "cw1-B"));
    EXPECT_TRUE(has_signature(shown, "cw1-B"));
    EXPECT_FALSE(has_signature(shown, "cw1-C"));
    // A finding that already has variants.
    Finding third = method_of("C", "base.py:3");
    add_variants(third, shown);
    EXPECT_EQ(third.variants.size(), 3U);
}

TEST(Variants, AreBounded) {
    Finding shown = method_of("A", "base.py:3");
    for (std::size_t i = 0; i < kMaxVariants + 9; ++i) {
        add_variants(shown, method_of("C" + std::to_string(i), "base.py:3"));
    }
    EXPECT_EQ(shown.variants.size(), kMaxVariants);
    EXPECT_EQ(shown.omitted_variants, 10U);
}

TEST(Variants, OfTheSameClassesAreNamedByTheReference) {
    Finding shown = method_of("A", "base.py:3");
    Finding other = shown;
    other.signature = "cw1-other";
    other.cycle[0].label = ".second";
    add_variants(shown, other);
    EXPECT_EQ(shown.variants[1].name, "A.second");
}

}  // namespace
}  // namespace cyclewatch::model
