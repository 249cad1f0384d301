// SPDX-License-Identifier: Apache-2.0
#include "advice/reader.h"
#include "advice/rules.h"
#include "advice/slots.h"
#include "advice/version_range.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cyclewatch::advice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<std::string> kKnown{"back-pointer", "unknown"};

constexpr const char* kSound =
    R"({"id": "mine", "title": "T", "explanation": "why {variable}", "steps": [{"label": ".x"}]})";

Contents with_pattern(const std::string& pattern) {
    return read("{\"pattern\": [" + pattern + "]}", &kKnown);
}

TEST(Reader, ReadsAPattern) {
    const Contents contents = read(
        R"({"pattern": [{"id": "mine", "title": "T", "shape": "S", "explanation": "E", "advice": "A",
            "variants": {"other": {"advice": "B"}}, "before": "x", "after": "y", "links": ["l"],
            "tags": ["benign"], "library": {"package": "torch", "versions": ">=2"},
            "steps": [{"holder": "h", "label": "l", "target": "t"}],
            "suggests": {"label": "closure:*"}}]})",
        nullptr);
    ASSERT_THAT(contents.problems, IsEmpty());
    const Pattern& pattern = contents.patterns.at(0);
    EXPECT_EQ(pattern.variants.at("other").explanation, "E") << "inherited from the pattern";
    EXPECT_EQ(pattern.variants.at("other").advice, "B");
    EXPECT_EQ(pattern.steps.at(0).target, "t");
    EXPECT_EQ(pattern.suggests->holder, "*");
    EXPECT_THAT(pattern.tags(), ElementsAre("benign", "library"));
    EXPECT_TRUE(pattern.library->range.contains(*parse_version("2.1")));
}

TEST(Reader, ReportsAnInvalidPatternAndReadsTheOthers) {
    const std::string sound = std::string(", ") + kSound;
    const struct {
        std::string pattern;
        const char* sentence;
    } cases[] = {
        {R"({"title": "T"})", "pattern[0] needs id = \"...\""},
        {R"("text")", "pattern[0] is not a table"},
        {R"({"id": 3})", "pattern[0].id is not a string"},
        {R"({"id": "a", "titel": "T"})", "pattern[0] has no key \"titel\"; the keys are id, title"},
        {R"({"id": "a", "title": "T", "explanation": "{who}", "steps": []})",
         "pattern[0].explanation has an unknown slot {who}; the slots are {holder}"},
        {R"({"id": "a", "title": "T", "explanation": "E"})",
         "pattern[0] does not describe a cycle"},
        {R"({"id": "unknown", "title": "T", "explanation": "E", "steps": [{}]})",
         "pattern[0].id = \"unknown\" is already used"},
        {R"({"id": "a", "title": "T", "explanation": "E", "steps": [{"lable": "x"}]})",
         "pattern[0].steps[0] has no key \"lable\"; the keys are holder, label, target"},
        {R"({"id": "a", "title": "T", "explanation": "E", "links": [1], "steps": [{}]})",
         "pattern[0].links has an entry that is not a string"},
        {R"({"id": "a", "title": "T", "explanation": "E", "steps": {}})",
         "pattern[0].steps is not a list"},
        {R"({"id": "a", "title": "T", "explanation": "E", "tags": ["odd"]})",
         "pattern[0].tags has an unknown tag \"odd\"; the only tag is \"benign\""},
        {R"({"id": "a", "title": "T", "explanation": "E",
             "library": {"package": "p", "versions": "new"}})",
         "pattern[0].library.versions is not a version range"},
        {R"({"id": "a", "title": "T", "explanation": "E", "variants": {"v": 1}, "steps": [{}]})",
         "pattern[0].variants.v is not a table"},
        {R"({"id": "a", "title": "T", "explanation": "E", "variants": {"v": {}}, "steps": [{}]})",
         "pattern[0] has variants"},
    };
    for (const auto& one : cases) {
        const Contents contents = with_pattern(one.pattern + sound);
        EXPECT_THAT(contents.problems, ElementsAre(HasSubstr(one.sentence)));
        ASSERT_EQ(contents.patterns.size(), 1U) << one.sentence;
        EXPECT_EQ(contents.patterns[0].id, "mine");
    }
}

TEST(Reader, ReadsSuppressions) {
    const Contents contents = read(R"({"pattern": [)" + std::string(kSound) + R"(], "ignore": [
            {"signature": "cw1-0123456789abcdef", "reason": "r"},
            {"pattern": "mine", "reason": "r"},
            {"pattern": "back-pointer"},
            {"pattern": "back-pionter", "reason": "r"},
            {"signature": "cw1-0123", "reason": "r"},
            {"reason": "r"}]})",
                                   &kKnown);
    EXPECT_EQ(contents.suppressions.size(), 2U);
    EXPECT_THAT(
        contents.problems,
        ElementsAre(HasSubstr("ignore[2]: a reason is required"),
                    HasSubstr("ignore[3]: \"back-pionter\" is not a pattern; the patterns are "
                              "back-pointer, unknown, mine"),
                    HasSubstr("ignore[4]: \"cw1-0123\" is not a signature"),
                    HasSubstr("ignore[5]: a signature or a pattern is required")));
}

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
        EXPECT_EQ(rules.ignore(one.suppression), "");
        const model::Finding finding = judged(rules, version(""));
        EXPECT_EQ(finding.status == model::Status::ignored, one.ignored);
        EXPECT_EQ(finding.status_reason, one.ignored ? "r" : "");
        EXPECT_EQ(finding.advice, "original advice");
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
    };
    for (const auto& one : cases) {
        model::Finding finding = one.finding;
        Rules().judge(finding, version(""));
        EXPECT_EQ(finding.status, one.status) << finding.cut[0].location;
    }
    model::Finding tie = with_locations(kLibrary, attribute);
    tie.tie = true;
    tie.alternatives = {attribute};
    Rules().judge(tie, version(""));
    EXPECT_EQ(tie.status, model::Status::fresh) << "cutting the user's reference is as good";
}

TEST(Rules, IgnoreAFindingByTheSignatureOfAVariant) {
    Rules rules;
    EXPECT_EQ(rules.ignore({"cw1-00000000000000aa", "", "known"}), "");
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
