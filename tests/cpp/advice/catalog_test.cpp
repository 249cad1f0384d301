// SPDX-License-Identifier: Apache-2.0
#include "advice/catalog.h"
#include "advice/reader.h"
#include "advice/rules.h"
#include "advice/slots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cyclewatch::advice {
namespace {

using ::testing::ElementsAre;
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

const std::vector<std::string> kKnown{"back-pointer", "unknown"};

constexpr const char* kSound =
    R"({"id": "mine", "title": "T", "explanation": "why {variable}", "steps": [{"label": ".x"}]})";

Contents with_pattern(const std::string& pattern) {
    return read("{\"pattern\": [" + pattern + "]}", &kKnown);
}

// The pattern above with `key` set to `value`.
std::string changed(const std::string& key, const std::string& value) {
    return std::string(kSound).insert(1, "\"" + key + "\": " + value + ", ");
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

TEST(Reader, RejectsDuplicateIds) {
    const Contents contents = with_pattern(std::string(kSound) + ", " + kSound);
    EXPECT_THAT(contents.problems,
                ElementsAre(HasSubstr("pattern[1].id = \"mine\" is already used")));
    EXPECT_THAT(with_pattern(changed("version", "1")).problems,
                ElementsAre(HasSubstr("no key \"version\"")));
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

TEST(Reader, RejectsInvalidDocuments) {
    for (const char* text : {"", "[", "3", "[]", R"({"pattern": 3})", R"({"ignore": "x"})"}) {
        const Contents contents = read(text, &kKnown);
        EXPECT_EQ(contents.problems.size(), 1U) << text;
        EXPECT_THAT(contents.patterns, IsEmpty());
    }
    EXPECT_THAT(read("{}", &kKnown).problems, IsEmpty());
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

TEST(Rules, RecogniseKnownLeaksInAffectedVersions) {
    const model::Finding finding = judged(Rules(), version("2.13.0+cpu"));
    EXPECT_EQ(finding.status, model::Status::library);
    EXPECT_EQ(finding.pattern, "torch-fx-wrap-frame");
    EXPECT_THAT(finding.status_reason,
                HasSubstr("torch >=2.1 (installed: 2.13.0+cpu); see https://"));
    EXPECT_THAT(finding.advice, HasSubstr("torch._dynamo"));
    EXPECT_THAT(finding.cut[0].reason, HasSubstr("`currentframe`"));
}

TEST(Rules, DoNotChangeFindingsInOtherVersions) {
    for (const char* other : {"2.0.1", "1.9", "", "unknown"}) {
        EXPECT_EQ(judged(Rules(), version(other)), wrap_frame()) << other;
    }
}

TEST(Rules, AreIdempotent) {
    const Rules rules;
    model::Finding finding = judged(rules, version("2.13.0"));
    const model::Finding once = finding;
    rules.judge(finding, version("2.13.0"));
    EXPECT_EQ(finding, once);
}

TEST(Rules, PreferTheUsersPatterns) {
    Rules rules;
    EXPECT_THAT(rules.configure(R"({"pattern": [{"id": "mine", "title": "T",
        "explanation": "{holder} again", "advice": "Ask Ann about {variable}.",
        "steps": [{"holder": "frame of torch.*"}]}]})"),
                IsEmpty());
    const model::Finding finding = judged(rules, version("2.13.0"));
    EXPECT_EQ(finding.pattern, "mine");
    EXPECT_EQ(finding.status, model::Status::fresh) << "a pattern does not change the status";
    EXPECT_EQ(finding.advice, "Ask Ann about currentframe.");
    EXPECT_EQ(finding.cut[0].reason, "`wrap` again");
    EXPECT_EQ(rules.patterns().front().id, "mine");
    EXPECT_EQ(rules.patterns().size(), Catalog::built_in().patterns().size() + 1);
}

TEST(Rules, RecogniseBenignCycles) {
    Rules rules;
    EXPECT_THAT(rules.configure(R"({"pattern": [{"id": "mine", "title": "T", "explanation": "E",
        "tags": ["benign"], "links": ["https://example.org/1"], "steps": [{}]}]})"),
                IsEmpty());
    const model::Finding finding = judged(rules, version(""));
    EXPECT_EQ(finding.status, model::Status::benign);
    EXPECT_EQ(finding.status_reason, "intentional cycle; see https://example.org/1");
    EXPECT_EQ(finding.advice, "original advice") << "the pattern has no advice";
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

TEST(Rules, RejectInvalidSuppressions) {
    Rules rules;
    EXPECT_THAT(rules.ignore({kSignature, "", " "}), HasSubstr("a reason is required"));
    EXPECT_THAT(rules.ignore({"", "back-pionter", "r"}),
                HasSubstr("the patterns are frame-in-own-local, "));
    EXPECT_EQ(judged(rules, version("")).status, model::Status::fresh);
}

TEST(Rules, ReplaceThePreviousConfiguration) {
    Rules rules;
    EXPECT_EQ(rules.ignore({"", "back-pointer", "asked"}), "");
    EXPECT_THAT(
        rules.configure(R"({"ignore": [{"pattern": "frame-in-own-local", "reason": "r"}]})"),
        IsEmpty());
    EXPECT_EQ(judged(rules, version("")).status, model::Status::ignored);
    EXPECT_THAT(rules.configure("{}"), IsEmpty());
    EXPECT_EQ(judged(rules, version("")).status, model::Status::fresh);
    EXPECT_THAT(rules.configure(R"({"ignore": [{}]})"), ElementsAre(HasSubstr("ignore[0]: ")));
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

}  // namespace
}  // namespace cyclewatch::advice
