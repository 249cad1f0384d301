// SPDX-License-Identifier: Apache-2.0
#include "advice/rules.h"
#include "advice/slots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cyclewatch::advice {
namespace {

constexpr const char* kSignature = "cw1-0123456789abcdef";

// The cycle of torch.fx.wrap(), as described by the analysis.
model::Finding wrap_frame() {
    model::Finding finding;
    finding.signature = kSignature;
    finding.pattern = "frame-in-own-local";
    finding.advice = "original advice";
    model::Reference own;
    own.holder = own.target = "frame of torch.fx._symbolic_trace.wrap";
    own.label = "local:currentframe";
    own.reason = "original reason";
    finding.cycle = {own};
    finding.cut = {own};
    return finding;
}

VersionOf version(std::string text) {
    return [text = std::move(text)](const std::string& package) {
        return package == "torch" ? text : std::string();
    };
}

model::Finding judged(const Rules& rules, const VersionOf& version_of) {
    model::Finding finding = wrap_frame();
    rules.judge(finding, version_of);
    return finding;
}

TEST(Rules, IgnoreBySignatureAndByPattern) {
    const struct {
        Suppression suppression;
        bool ignored;
    } cases[] = {
        {{kSignature, "", "r"}, true},
        {{"cw1-0000000000000000", "", "r"}, false},
        {{"", "frame-in-own-local", "r"}, true},
        {{"", "back-pointer", "r"}, false},
        {{kSignature, "back-pointer", "r"}, false},
        {{kSignature, "frame-in-own-local", "r"}, true},
    };
    for (const auto& one : cases) {
        Rules rules;
        rules.ignore(one.suppression);
        const model::Finding finding = judged(rules, version(""));
        EXPECT_EQ(finding.status == model::Status::ignored, one.ignored);
        EXPECT_EQ(finding.status_reason, one.ignored ? "r" : "");
        EXPECT_EQ(finding.advice, "original advice");
    }
}

TEST(Rules, LibraryPatternAppliesToAffectedReleases) {
    const struct {
        Release first;
        Release fixed_in;
        const char* installed;
        bool affected;
    } cases[] = {
        {{0, 8, 0}, {0, 8, 2}, "0.8.0", true},
        {{0, 8, 0}, {0, 8, 2}, "0.8", true},
        {{0, 8, 0}, {0, 8, 2}, "0.8.1.post1", true},
        {{0, 8, 0}, {0, 8, 2}, "0.8.2", false},
        {{0, 8, 0}, {0, 8, 2}, "0.7.2", false},
        {{2, 9}, {}, "2.13.0+cpu", true},  // compares numbers
        {{}, {2, 9}, "2.13.0+cpu", false},
        {{}, {2}, "2.0.0+cu121", false},
        {{}, {2}, "1.13", true},
        {{2}, {}, "2.0.0rc1", true},  // a pre-release counts as the release
        {{}, {}, "unknown", false},
        {{}, {}, "", false},
    };
    for (const auto& one : cases) {
        Pattern pattern;
        pattern.id = "mine";
        pattern.steps = {{"*", "local:currentframe", "*"}};
        pattern.library = Library{"torch", "versions", one.first, one.fixed_in};
        Rules rules;
        rules.configure({pattern}, {});
        const model::Finding finding = judged(rules, version(one.installed));
        EXPECT_EQ(finding.pattern == "mine", one.affected) << one.installed;
    }
}

// A finding with one reference to cut, and a cycle of this reference and another one.
model::Finding with_locations(const std::string& cut, const model::Reference& other) {
    model::Finding finding;
    const model::Reference first{"lib.Trainer", ".model", "Model", cut, "", {}};
    finding.cut = {first};
    finding.cycle = {first, other};
    return finding;
}

TEST(Rules, CycleThatOnlyLibraryCodeStoresHasTheStatusLibrary) {
    constexpr const char* kLibrary = "/v/site-packages/lib.py:3";
    constexpr const char* kUser = "/me/train.py:7";
    const model::Reference attribute{"Model", ".trainer", "lib.Trainer", kUser, "", {}};
    const model::Reference method{
        "bound method Model.step", "__self__", "lib.Trainer", kUser, "", {}};
    const model::Reference stored_by_library{"Model", ".trainer", "lib.Trainer", kLibrary, "", {}};
    const model::Reference unknown{"Model", ".trainer", "lib.Trainer", "", "", {}};
    const struct {
        model::Finding finding;
        model::Status status;
    } cases[] = {
        {with_locations(kLibrary, attribute), model::Status::library},
        {with_locations("/usr/lib/python3.11/asyncio/base.py:3", attribute),
         model::Status::library},
        {with_locations(kUser, attribute), model::Status::fresh},
        {with_locations("", attribute), model::Status::fresh},
        {with_locations(kLibrary, method), model::Status::fresh},
        {with_locations("", stored_by_library), model::Status::library},
        {with_locations("", unknown), model::Status::fresh},
    };
    for (const auto& one : cases) {
        model::Finding finding = one.finding;
        Rules().judge(finding, version(""));
        EXPECT_EQ(finding.status, one.status) << finding.cut[0].location;
    }
    model::Finding hidden = with_locations(kLibrary, attribute);
    hidden.collected = model::Collected::uncollectable;
    Rules().judge(hidden, version(""));
    EXPECT_EQ(hidden.status, model::Status::fresh) << "the user's attribute closes the cycle";
    hidden = with_locations(kLibrary, stored_by_library);
    hidden.collected = model::Collected::uncollectable;
    Rules().judge(hidden, version(""));
    EXPECT_EQ(hidden.status, model::Status::library);
    model::Finding tie = with_locations(kLibrary, attribute);
    tie.tie = true;
    tie.alternatives = {attribute};
    Rules().judge(tie, version(""));
    EXPECT_EQ(tie.status, model::Status::fresh) << "cutting the user's reference is as good";
}

TEST(Rules, IgnoreAFindingByTheSignatureOfAVariant) {
    Rules rules;
    rules.ignore({"cw1-00000000000000aa", "", "known"});
    model::Finding finding = wrap_frame();
    rules.judge(finding, version(""));
    EXPECT_EQ(finding.status, model::Status::fresh);
    finding.variants.resize(1);
    finding.variants[0].signature = "cw1-00000000000000aa";
    rules.judge(finding, version(""));
    EXPECT_EQ(finding.status, model::Status::ignored);
}

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

}  // namespace
}  // namespace cyclewatch::advice
