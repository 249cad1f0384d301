// SPDX-License-Identifier: Apache-2.0
#include "advice/shape.h"
#include "advice/slots.h"
#include "advice/version_range.h"

#include <gtest/gtest.h>

namespace cyclewatch::advice {
namespace {

model::Reference reference(const char* holder, const char* label, const char* target) {
    model::Reference made;
    made.holder = holder;
    made.label = label;
    made.target = target;
    return made;
}

// Engine.hooks -> [0] -> <lambda>.closure:self -> Engine
model::Finding engine() {
    model::Finding finding;
    finding.cycle = {
        reference("app.Engine", ".hooks", "list"),
        reference("list", "[0]", "function app.Engine.<lambda>"),
        reference("function app.Engine.<lambda>", "closure:self", "app.Engine"),
    };
    finding.cut = {finding.cycle[2]};
    finding.alternatives = {reference("app.Engine", ".weights", "torch.Tensor")};
    return finding;
}

TEST(Glob, MatchesTheWholeText) {
    const struct {
        const char* glob;
        std::string text;
        bool matches;
    } cases[] = {
        {"*", "", true},
        {"function *.<lambda>", "function app.Engine.<lambda>", true},
        {"*a*b*", "xxaxxbxx", true},
        {"[?]", "[3]", true},
        {"", "a", false},
        {"app", "app.Engine", false},
        {"*ab", "aab ", false},
        {"[?]", "[34]", false},
        {"a?", "a", false},
        {"*a*a*a*a*a*a*a*a*b", std::string(5000, 'a'), false},  // not in exponential time
    };
    for (const auto& one : cases) {
        EXPECT_EQ(glob_matches(one.glob, one.text), one.matches) << one.glob;
    }
}

TEST(Shape, MatchesConsecutiveReferences) {
    const struct {
        std::vector<Step> steps;
        std::optional<Step> suggests;
        bool matches;
    } cases[] = {
        {{{"app.Engine", ".hooks", "list"}}, {}, true},
        {{{"*", "closure:*", "app.Engine"}, {"app.*", ".hooks", "*"}}, {}, true},  // wraps around
        {{{"app.Engine", ".hooks", "*"}, {"*", "closure:self", "*"}}, {}, false},  // not adjacent
        {{{"app.Engine", ".weights", "*"}}, {}, false},  // not on the cycle
        {{{}, {}, {}, {}}, {}, false},                   // longer than the cycle
        {{{"app.Engine", ".hooks", "*"}}, Step{"*", ".weights", "torch.*"}, true},
        {{{"app.Engine", ".hooks", "*"}}, Step{"*", "closure:self", "*"}, true},
        {{{"app.Engine", ".hooks", "*"}}, Step{"*", ".hooks", "*"}, false},  // not suggested
        {{}, {}, false},
    };
    for (std::size_t i = 0; i < std::size(cases); ++i) {
        Pattern pattern;
        pattern.steps = cases[i].steps;
        pattern.suggests = cases[i].suggests;
        EXPECT_EQ(shape_matches(pattern, engine()), cases[i].matches) << i;
        EXPECT_FALSE(shape_matches(pattern, model::Finding{})) << i;
    }
}

Slots slots(const char* label) {
    model::Reference reference;
    reference.holder = "function app.Engine.__init__.<locals>.<lambda>";
    reference.label = label;
    reference.target = "app.Engine";
    return slots_of(reference);
}

TEST(Slots, AreReplacedByTheNamesOfTheReference) {
    EXPECT_EQ(fill("{holder} {target} {label} {variable}.", slots("closure:self")),
              "`<lambda>` Engine closure:self self.");
}

TEST(Slots, VariableIsTheNameInTheLabel) {
    EXPECT_EQ(slots(".callback").variable, "callback");
    EXPECT_EQ(slots("slot:parent").variable, "parent");
    EXPECT_EQ(slots("['root']").variable, "root");
    EXPECT_EQ(slots("[3]").variable, "[3]");
    EXPECT_EQ(slots("__self__").variable, "__self__");
}

TEST(Slots, OtherBracesAreUnchanged) {
    EXPECT_EQ(fill("x = {} or {1: 2} or {'a'}", slots(".a")), "x = {} or {1: 2} or {'a'}");
    Slots odd = slots(".a");
    odd.variable = "{holder}";
    EXPECT_EQ(fill("{variable}", odd), "{holder}") << "not replaced twice";
    EXPECT_EQ(fill("{", odd), "{");
}

TEST(Slots, UnknownOnesAreReported) {
    EXPECT_EQ(unknown_slot("{holder} of {owner}"), "owner");
    EXPECT_EQ(unknown_slot("{} {1: 2} {target}"), "");
}

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
