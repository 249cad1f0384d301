// SPDX-License-Identifier: Apache-2.0
// Signatures identify a cycle; findings depend neither on the order in which the collector lists
// objects nor on addresses.
#include "analysis/signature.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "analysis/analyze.h"
#include "support/graph_text.h"

namespace cyclewatch::analysis {
namespace {

using test_support::observe;

std::string only_signature(std::string_view text) {
    const auto findings = analyze(observe(text));
    EXPECT_EQ(findings.size(), 1U) << text;
    return findings.empty() ? "" : findings[0].signature;
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

// The findings without storage ids, which depend on the order of objects.
std::vector<model::Finding> findings_of(const model::Observation& observation) {
    std::vector<model::Finding> findings = analyze(observation);
    for (model::Finding& finding : findings) {
        for (model::OwnerSummary& owner : finding.owners) {
            std::uint64_t owners = 0;
            for (const model::StorageShare& share : owner.storages) {
                owners += share.owners;
            }
            EXPECT_EQ(owners, owner.count);
            owner.storages.clear();
        }
    }
    return findings;
}

// Two paths from R back to R that differ only far from R.
std::string paths_that_differ_far_away() {
    std::string text = "R=m.R s:set R.s->s R.w->t:owner(64)";
    for (const std::string path : {"a", "b"}) {
        text += " s/element->" + path + "0";
        for (int i = 0; i < 30; ++i) {
            const std::string node = path + std::to_string(i);
            const std::string next = i == 29 ? "R" : path + std::to_string(i + 1);
            text += " " + node + ".n->" + next + " " + node + "=m." + (i == 15 ? path : "N");
        }
    }
    return text;
}

TEST(Determinism, FindingsDoNotDependOnTheOrderOfObjects) {
    const std::string texts[] = {
        "r=m.Node a=m.Node b=m.Node c=m.Node r.left->a r.right->b a.up->r b.up->r a.twin->b "
        "b.twin->a c.twin->a a.kid->c r.w->t:owner(64) a.w->u:owner(64) b.w->v:owner(64) "
        "E.cb->l:list l[0]->f:function l[1]->g:function f/closure:self->E g/closure:self->E "
        "E.root->r E.w->x:owner(128)",
        // Objects of one type that differ only in their neighborhood.
        "A.s->s:set s/element->a s/element->b s/element->c a=m.N b=m.N c=m.N a.up->A b.back->A "
        "c.x->d d=m.M d.y->A A.w->t:owner(8)",
        paths_that_differ_far_away(),
    };
    for (const std::string& text : texts) {
        const std::vector<model::Finding> expected = findings_of(observe(text));
        ASSERT_FALSE(expected.empty());
        for (std::uint64_t shuffle = 1; shuffle < 60; ++shuffle) {
            ASSERT_TRUE(findings_of(observe(text, shuffle)) == expected) << shuffle << text;
        }
    }
}

// Two rings with references between them and to common owners. `copy` makes node and storage names
// unique.
std::string random_cluster(std::uint32_t seed, int copy) {
    std::mt19937 random(seed);
    const auto below = [&random](std::uint32_t limit) {
        return static_cast<std::uint32_t>(random() % limit);
    };
    const std::uint32_t nodes = 2 * (1 + below(3));
    const auto name = [&](std::uint32_t n) {
        return "c" + std::to_string(copy) + "n" + std::to_string(n);
    };
    std::string text;
    for (std::uint32_t n = 0; n < nodes; ++n) {
        text += " " + name(n) + "=m.N" + std::to_string(below(3) == 0 ? 0 : n);
    }
    for (std::uint32_t n = 0; n < nodes; ++n) {
        text += " " + name(n) + ".next->" + name((n + 2) % nodes) + " " + name(below(nodes)) +
                ".e" + std::to_string(n) + "->" + name(below(nodes));
    }
    const std::uint32_t held = below(5);
    const std::uint32_t owners = 1 + below(4);
    for (std::uint32_t o = 0; o < owners; ++o) {
        const std::uint32_t storage = below(2);
        text += " " + name(below(nodes)) + ".w" + std::to_string(o) + "->" + name(100 + o) +
                ":owner(" + std::to_string(8U << storage) + ",s" + std::to_string(copy) + "." +
                std::to_string(storage) + (storage == held ? ",held" : "") + ")=torch.Tensor";
    }
    return text;
}

TEST(Determinism, RandomClustersDoNotDependOnTheOrderOfObjects) {
    for (std::uint32_t seed = 0; seed < 100; ++seed) {
        std::string text;
        for (int copy = 0; copy < 12; ++copy) {
            text += random_cluster(seed + (copy % 4 == 3 ? 1 : 0), copy);
        }
        ASSERT_TRUE(findings_of(observe(text)) == findings_of(observe(text, 7))) << text;
    }
}

}  // namespace
}  // namespace cyclewatch::analysis
