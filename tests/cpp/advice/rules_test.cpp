// SPDX-License-Identifier: Apache-2.0
#include "advice/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "advice/catalog.h"

namespace cyclewatch::advice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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
