// SPDX-License-Identifier: Apache-2.0
// Findings that one code change fixes become one finding with variants.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "analysis/analyze.h"
#include "support/graph_text.h"

namespace cyclewatch::analysis {
namespace {

using test_support::observe;
using ::testing::UnorderedElementsAre;

// An instance of m.NAME with an attribute that is a function that captures the instance.
std::string wrapped(const std::string& name,
                    const std::string& owner,
                    const std::string& location = "wrap.py:7") {
    return name + "=m." + name + " " + name + ".update->f" + name + " f" + name +
           ":function=m.wrap.<locals>.wrapped@" + location + " f" + name + "/closure:self->" +
           name + " " + name + ".w->" + owner + " ";
}

std::vector<std::string> names_of(const model::Finding& finding) {
    std::vector<std::string> names;
    for (const model::Variant& variant : finding.variants) {
        names.push_back(variant.name);
    }
    return names;
}

TEST(MergeFindings, DoesNotDependOnTheOrderOfObjects) {
    const std::string text = wrapped("Accuracy", "t:owner(16)") + wrapped("F1", "u:owner(16)") +
                             wrapped("Recall", "v:owner(16)");
    const auto first = analyze(observe(text));
    for (std::uint64_t shuffle = 1; shuffle < 20; ++shuffle) {
        EXPECT_EQ(analyze(observe(text, shuffle)).at(0).variants, first.at(0).variants);
        EXPECT_EQ(analyze(observe(text, shuffle)).at(0).title, first.at(0).title);
    }
}

TEST(MergeFindings, NeedsEqualKnownLocations) {
    for (const auto& [first, second] : {std::pair("@a.py:1", "@a.py:2"), std::pair("", "")}) {
        const auto findings =
            analyze(observe(std::string("A=m.A A.one->f f/closure:self->A ") +
                            "A.w->t:owner(8) f:function=m.make.<locals>.f" + first +
                            " B=m.B B.two->g g/closure:self->B " +
                            "B.w->u:owner(8) g:function=m.make.<locals>.g" + second));
        ASSERT_EQ(findings.size(), 2U);
        EXPECT_TRUE(findings[0].variants.empty());
    }
}

TEST(MergeFindings, MergesTheSameCycleThroughAnotherClass) {
    const auto findings = analyze(observe(
        "T=m.Tensor T.ops->s:set s/element->A A=m.Add A.variables->l:tuple l[0]->T T.w->t:owner(8) "
        "U=m.Tensor U.ops->r:set r/element->S S=m.Sum S.variables->k:tuple k[1]->U "
        "U.w->u:owner(4)"));
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_THAT(names_of(findings[0]), UnorderedElementsAre("Add", "Sum"));
}

TEST(MergeFindings, RetainsAStorageThatOnlyTheyShare) {
    const auto findings = analyze(observe(wrapped("Accuracy", "t:owner(16,s)") +
                                          wrapped("F1", "u:owner(16,s)") + "F1.x->v:owner(4)"));
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].retained_bytes, 20U);
    EXPECT_EQ(findings[0].shared_bytes, 0U);
    EXPECT_EQ(findings[0].shared_with, 0U);
}

TEST(MergeFindings, CountsAStorageThatAnotherFindingSharesOnce) {
    const auto findings =
        analyze(observe(wrapped("Accuracy", "t:owner(16,s)") + wrapped("F1", "u:owner(16,s)") +
                        "X=m.Other X.me->X X.t->z:owner(16,s)"));
    ASSERT_EQ(findings.size(), 2U);
    for (const model::Finding& finding : findings) {
        EXPECT_EQ(finding.retained_bytes, 0U);
        EXPECT_EQ(finding.shared_bytes, 16U);
        EXPECT_EQ(finding.shared_with, 1U);
    }
    EXPECT_EQ(findings[0].attributed_bytes + findings[1].attributed_bytes, 16U);
}

TEST(MergeFindings, CombinesTheFreedShares) {
    const auto findings =
        analyze(observe(wrapped("Accuracy", "t:owner(16)") + wrapped("F1", "u:owner(64)") +
                        "F1.next->X X=m.Other X.me->X X.t->u"));
    const auto merged =
        std::ranges::find_if(findings, [](const auto& each) { return !each.variants.empty(); });
    ASSERT_NE(merged, findings.end());
    EXPECT_LT(merged->freed_share, 1);
}

}  // namespace
}  // namespace cyclewatch::analysis
