// SPDX-License-Identifier: Apache-2.0
#include "model/edge_label.h"
#include "model/mistake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <utility>

namespace cyclewatch::model {
namespace {

using ::testing::IsEmpty;

TEST(EdgeLabel, ReplacesAddressesAndUuids) {
    const std::pair<const char*, const char*> cases[] = {
        {"fsdp_state:6f9619ff-8b86-d011-b42d-00cf4fc964ff", "fsdp_state:<uuid>"},
        {"state_6f9619ff_8b86_d011_b42d_00cf4fc964ff", "state_<uuid>"},
        {"6f9619ff8b86d011b42d00cf4fc964ff", "<uuid>"},
        {"hook_139872346112", "hook_<id>"},
        {"hook139872346112x", "hook<id>x"},
        {"at_0x7f3a2b9c1d40_", "at_<id>_"},
        {"part_9f3b07aa", "part_<id>"},
    };
    for (const auto& [name, expected] : cases) {
        EXPECT_EQ(without_ids(name), expected);
    }
    for (const char* name : {"", "defaced_facade", "conv2d_12", "year_2026", "0x12", "a-b-c"}) {
        EXPECT_EQ(without_ids(name), name);
    }
}

TEST(EdgeLabel, ReplacesNumbersInKeys) {
    const std::pair<const char*, const char*> cases[] = {{"weights", "weights"},
                                                         {"request_17", "request_#"},
                                                         {"request_#", "request_#"},
                                                         {"conv2d", ""},
                                                         {"_9f3b07", ""}};
    for (const auto& [key, expected] : cases) {
        EXPECT_EQ(key_shape(key), expected);
    }
}

TEST(EdgeLabel, HasAFormForOneForManyAndForSignatures) {
    const struct {
        EdgeKind kind;
        const char* name;
        std::uint32_t index;
        const char* one;
        const char* many;
        const char* signature;
    } cases[] = {
        {EdgeKind::index, "", 7, "[7]", "[x]", "[x]"},
        {EdgeKind::partial_argument, "", 7, "args[7]", "args[x]", "args[x]"},
        {EdgeKind::field,
         "",
         24,
         "C field at offset 24",
         "C field at offset x",
         "C field at offset x"},
        {EdgeKind::closure, "x1", 0, "closure:x1", "closure:x1", "closure:x1"},
        {EdgeKind::attribute, "a", 0, ".a", ".a", ".a"},
        {EdgeKind::attribute, "slot_17", 0, ".slot_17", ".slot_17", ".slot_#"},
        {EdgeKind::attribute, "conv2d_1", 0, ".conv2d_1", ".conv2d_1", ".conv2d_#"},
        {EdgeKind::attribute, "hook_139872346112", 0, ".hook_<id>", ".hook_<id>", ".hook_<id>"},
        {EdgeKind::partial_keyword, "k7", 0, "keywords['k7']", "keywords['k7']", "keywords['k#']"},
        {EdgeKind::key_value, "layer1", 0, "['layer1']", "['layer1']", "['layer#']"},
        {EdgeKind::key_value, "conv2d", 0, "['conv2d']", "['conv2d']", "[<str>]"},
        {EdgeKind::key_value, "ann", kHiddenKey, "[<str>]", "[<str>]", "['ann']"},
        {EdgeKind::captured_key_value, "'a b'", 0, "['a b']", "['a b']", "[<str>]"},
    };
    for (const auto& label : cases) {
        EXPECT_EQ(label_text(label.kind, label.name, label.index), label.one);
        EXPECT_EQ(label_text_of_many(label.kind, label.name, label.index), label.many);
        EXPECT_EQ(generic_label_text(label.kind, label.name, label.index), label.signature);
    }
}

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

// An object whose hook captures it.
Finding hook_of(const std::string& name, const std::string& function) {
    Finding finding;
    finding.pattern = "closure-captures-owner";
    finding.cycle = {reference("m." + name, ".hook"),
                     reference("function m." + function, "closure:self", function + ".py:1")};
    finding.cut = {finding.cycle[1]};
    return finding;
}

TEST(MistakeKeys, DistinguishFunctionsButNotClasses) {
    EXPECT_TRUE(same_mistake(hook_of("A", "hook"), hook_of("B", "hook")));
    EXPECT_FALSE(same_mistake(hook_of("A", "first.hook"), hook_of("A", "second.hook")));
    Finding elsewhere = hook_of("B", "hook");
    elsewhere.cut.front().location = "other.py:1";
    EXPECT_TRUE(same_mistake(hook_of("A", "hook"), elsewhere)) << "the classes differ";
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
