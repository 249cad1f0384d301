// SPDX-License-Identifier: Apache-2.0
#include "analysis/signature.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "analysis/analyze.h"
#include "support/graph_text.h"

namespace cyclewatch::analysis {
namespace {

std::string only_signature(std::string_view text) {
    const auto findings = analyze(test_support::observe(text));
    EXPECT_EQ(findings.size(), 1U) << text;
    return findings.empty() ? "" : findings[0].signature;
}

TEST(LeastRotation, IsTheLeastOfAllRotations) {
    std::mt19937 random(3);
    for (int round = 0; round < 500; ++round) {
        std::vector<std::string> ring;
        for (unsigned i = 0; i < 1 + random() % 8; ++i) {
            ring.emplace_back(1, static_cast<char>('a' + random() % 3));
        }
        std::vector<std::string> least = ring;
        for (std::size_t start = 1; start < ring.size(); ++start) {
            std::vector<std::string> rotated = ring;
            std::rotate(rotated.begin(),
                        rotated.begin() + static_cast<std::ptrdiff_t>(start),
                        rotated.end());
            least = std::min(least, rotated);
        }
        std::rotate(ring.begin(),
                    ring.begin() + static_cast<std::ptrdiff_t>(least_rotation(ring)),
                    ring.end());
        EXPECT_EQ(ring, least);
    }
}

TEST(Signature, DoesNotDependOnTheStartOfTheCycle) {
    const std::string from_a = only_signature("A.b->B B.c->C C.a->A A.w->t:owner(8)");
    EXPECT_EQ(from_a, only_signature("A.b->B B.c->C C.a->A B.w->t:owner(8)"));
    EXPECT_EQ(from_a, only_signature("A.b->B B.c->C C.a->A C.w->t:owner(8)"));
}

TEST(Signature, IgnoresSizesLinesAndPositions) {
    EXPECT_EQ(only_signature("A.l->l:list l[0]->A A.w->t:owner(8) A=m.A@a.py:1"),
              only_signature("A.l->l:list l[7]->A A.w->t:owner(16) A=m.A@b.py:9"));
}

TEST(Signature, IgnoresNumbersInComputedNames) {
    EXPECT_EQ(only_signature("A.hook_1->A A.w->t:owner(8)"),
              only_signature("A.hook_27->A A.w->t:owner(8)"));
    const auto of_class = [](const std::string& name) {
        return only_signature("T:type=" + name + " T/__mro__->m:tuple m[0]->T a=" + name +
                              " a/__class__->T a.me->a a.w->t:owner(8)");
    };
    EXPECT_EQ(of_class("m.Model_1"), of_class("m.Model_27"));
    EXPECT_NE(of_class("m.Model_1"), of_class("m.Other_1"));
    // Classes that stay alive are named in the source code: ResNet18 and ResNet50 differ.
    EXPECT_NE(only_signature("A=m.ResNet18 A.me->A A.w->t:owner(8)"),
              only_signature("A=m.ResNet50 A.me->A A.w->t:owner(8)"));
}

TEST(Signature, DependsOnNamesAndLabels) {
    const std::string base = only_signature("A.b->B B.a->A A.w->t:owner(8)");
    EXPECT_NE(base, only_signature("A.b->B B.x->A A.w->t:owner(8)"));
    EXPECT_NE(base, only_signature("A.b->B B.a->A A.w->t:owner(8) B=m.Other"));
}

TEST(Signature, HasItsDocumentedForm) {
    const std::string signature = only_signature("A.me->A A.w->t:owner(8)");
    ASSERT_EQ(signature.size(), 20U);
    EXPECT_EQ(signature.substr(0, 4), "cw1-");
    EXPECT_EQ(signature.find_first_not_of("0123456789abcdef", 4), std::string::npos);
    // A pinned value: signatures in files must stay valid in later versions.
    EXPECT_EQ(signature, "cw1-aa7b9adf59ab8760");
}

}  // namespace
}  // namespace cyclewatch::analysis
