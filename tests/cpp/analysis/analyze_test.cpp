// SPDX-License-Identifier: Apache-2.0
#include "analysis/analyze.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "support/graph_text.h"

namespace cyclewatch::analysis {
namespace {

using test_support::observe;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<model::Finding> find(std::string_view text) {
    return analyze(observe(text));
}

model::Finding only(std::string_view text) {
    std::vector<model::Finding> findings = find(text);
    EXPECT_EQ(findings.size(), 1U) << text;
    return findings.empty() ? model::Finding{} : findings[0];
}

TEST(Analyze, DescribesTheCycleInOrder) {
    const model::Finding finding = only(
        "E=m.Engine E.callbacks->l:list l[0]->f:function=m.Engine.go.<lambda> "
        "f/closure:self->E E.weights->d:dict d['w']->t:owner(4096)");
    EXPECT_EQ(finding.title, "Engine.callbacks -> [0] -> <lambda>.closure:self -> Engine");
    ASSERT_EQ(finding.cycle.size(), 3U);
    EXPECT_EQ(finding.cycle[0].holder, "m.Engine");
    EXPECT_EQ(finding.cycle[2].target, "m.Engine");
    ASSERT_EQ(finding.owners.size(), 1U);
    EXPECT_EQ(finding.owners[0].path, "Engine.weights['w']");
    EXPECT_EQ(finding.remedy, "cut <lambda>.closure:self");
}

struct BytesCase {
    const char* name;
    const char* graph;
    // Per finding: occurrences if several, first holder, retained bytes, shared bytes, number of
    // findings that share them, attributed bytes if they differ from the retained bytes.
    const char* expected;
};

std::ostream& operator<<(std::ostream& out, const BytesCase& bytes) {
    return out << bytes.name;
}

std::string bytes_of(const std::vector<model::Finding>& findings) {
    std::string text;
    for (const model::Finding& finding : findings) {
        text += text.empty() ? "" : "; ";
        text += finding.occurrences > 1 ? std::to_string(finding.occurrences) + " x " : "";
        text += finding.cycle[0].holder + " " + std::to_string(finding.retained_bytes);
        if (finding.shared_bytes > 0 || finding.shared_with > 0) {
            text += " + " + std::to_string(finding.shared_bytes) + " shared with " +
                    std::to_string(finding.shared_with);
        }
        if (finding.attributed_bytes != finding.retained_bytes) {
            text += ", attributed " + std::to_string(finding.attributed_bytes);
        }
    }
    return text;
}

const BytesCase kBytes[] = {
    {"NoCycleAbove", "A.w->t:owner(8) A.b->B", ""},
    {"CycleDoesNotLeadToOwner", "A.b->B B.a->A t:owner(8)", ""},
    {"NoOwner", "A.b->B B.a->A", ""},
    {"StorageWithTwoOwnersCountsOnce",
     "A.b->B B.a->A A.v->t:owner(64,s) B.v->u:owner(64,s)",
     "m.A 64"},
    {"OwnerOnTheCycle", "T=m.MyTensor T.ctx->C C.out->T T:owner(32)", "m.MyTensor 32"},
    {"SharedByTwoCycles",
     "A.b->B B.a->A C.d->D D.c->C A.x->t:owner(64) C.x->t A.own->u:owner(8)",
     "m.A 8 + 64 shared with 1, attributed 72; m.C 0 + 64 shared with 1"},
    {"RankedByRetainedAndShared",
     "A.me->A A.w->t:owner(64) B.me->B B.x->t C.me->C C.x->t D.me->D D.w->u:owner(64) "
     "E.me->E E.w->v:owner(63)",
     "m.D 64; m.C 0 + 64 shared with 2, attributed 64; m.A 0 + 64 shared with 2; m.B 0 + 64 shared "
     "with 2; m.E 63"},
    {"BelongToTheNearestCycle",
     "A.b->B B.a->A A.c->C C.d->D D.c->C D.x->t:owner(64)",
     "m.D 64; m.A 0 + 64 shared with 1"},
    {"BelowTwoInnerCyclesBelongToTheOuterOne",
     "A.b->B B.a->A A.c->C C.me->C A.d->D D.me->D C.x->t:owner(64) D.x->t",
     "m.A 64; m.C 0 + 64 shared with 2; m.D 0 + 64 shared with 2"},
    {"NestedCycleOfTheSameFindingCountsOnce",
     "A=m.Node A.me->A A.next->B B=m.Node B.me->B B.w->t:owner(64)",
     "2 x m.Node 64"},
    {"ViewInAnotherCycleIsShared",
     "A.b->B B.a->A C.d->D D.c->C A.x->t:owner(64,s) C.x->u:owner(64,s)",
     "m.C 0 + 64 shared with 1, attributed 64; m.A 0 + 64 shared with 1"},
    {"SharedWithinOneFindingAreRetained",
     "A=m.Node A.me->A A.x->t:owner(64,s) B=m.Node B.me->B B.x->u:owner(64,s) "
     "C=m.Node C.me->C C.x->v:owner(8)",
     "3 x m.Node 72"},
    {"SharedWithAnotherFindingCountOncePerFinding",
     "A=m.Node A.me->A A.x->t:owner(64,s) B=m.Node B.me->B B.x->u:owner(64,s) "
     "C=m.Other C.me->C C.x->v:owner(64,s)",
     "m.Other 0 + 64 shared with 1, attributed 64; 2 x m.Node 0 + 64 shared with 1"},
    {"EqualCyclesWithDifferentSharing",
     "a=m.Node a.me->a b=m.Node b.me->b c=m.Node c.me->c a.w->t:owner(64,s) b.w->u:owner(64,s) "
     "c.w->v:owner(64,z) d=m.Node d.me->d d.w->x:owner(64,z) X.x->x",
     "4 x m.Node 64 + 64 shared with 0, attributed 128"},
    {"KeptFromOutsideTheGraph",
     "A.b->B B.a->A A.x->t:owner(64) X.x->t",
     "m.A 0 + 64 shared with 0, attributed 64"},
    {"HeldByALiveObjectAreNotCounted",
     "A.b->B B.a->A A.x->t:owner(64,s,held) B.y->u:owner(8)",
     "m.B 8"},
    {"HeldByALiveObjectAreNotAFinding", "A.b->B B.a->A A.x->t:owner(64,s,held)", ""},
    {"HeldByALiveObjectBelowANestedCycle",
     "A.b->B B.a->A A.c->C C.me->C C.x->t:owner(64,s,held)",
     ""},
    {"HeldByALiveObjectAndAnotherCycle",
     "A.b->B B.a->A A.x->t:owner(64,s,held) C.me->C C.x->t C.y->u:owner(8)",
     "m.C 8"},
};

class Bytes : public ::testing::TestWithParam<BytesCase> {};

TEST_P(Bytes, AreCountedOnce) {
    EXPECT_EQ(bytes_of(find(GetParam().graph)), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(Cases, Bytes, ::testing::ValuesIn(kBytes), [](const auto& info) {
    return std::string(info.param.name);
});

TEST(Owners, OfOneStorageAndOfHeldStoragesAreListed) {
    EXPECT_EQ(only("A.b->B B.a->A A.v->t:owner(64,s) B.v->u:owner(64,s)").owners.size(), 2U);
    const auto owners = only("A.b->B B.a->A A.x->t:owner(64,s,held) B.y->u:owner(8)").owners;
    ASSERT_EQ(owners.size(), 2U);
    EXPECT_EQ(owners[0].bytes, 64U);
    EXPECT_EQ(only("T=m.MyTensor T.ctx->C C.out->T T:owner(32)").owners[0].path, "MyTensor");
}

TEST(Owners, WithDifferentIndicesAreOneGroup) {
    const model::Finding finding = only("A.me->A A.l->l:list l[0]->t:owner(16) l[1]->u:owner(16)");
    ASSERT_EQ(finding.owners.size(), 1U);
    EXPECT_EQ(finding.owners[0].count, 2U);
    EXPECT_EQ(finding.owners[0].path, "A.l[x]");
}

TEST(Owners, AreBounded) {
    std::string text = "A.me->A";
    for (int i = 0; i < 200; ++i) {
        text += " A.w" + std::to_string(i) + "->t" + std::to_string(i) + ":owner(" +
                std::to_string(1000 + i) + ")";
    }
    const model::Finding finding = only(text);
    ASSERT_EQ(finding.owners.size(), model::kMaxOwnersPerFinding);
    EXPECT_EQ(finding.owners[0].bytes, 1199U);
    EXPECT_EQ(finding.omitted_owners, 200U - model::kMaxOwnersPerFinding);
}

TEST(Occurrences, IncludeClustersThatWereNotCaptured) {
    model::Observation observation = observe("A.b->B B.a->A A.w->t:owner(16)");
    observation.repeats.push_back({observation.owners[0].node, 9, 9, 144});
    const auto findings = analyze(observation);
    EXPECT_EQ(bytes_of(findings), "10 x m.A 160");
    EXPECT_EQ(findings[0].largest_bytes, 16U);
    EXPECT_EQ(findings[0].owners[0].count, 10U);

    // Two cycles that share a storage.
    observation =
        observe("a=m.A b=m.B a.b->b b.a->a c=m.A d=m.B c.b->d d.a->c a.w->t:owner(64) c.w->t");
    observation.repeats.push_back({observation.owners[0].node, 9, 9, 576});
    EXPECT_EQ(bytes_of(analyze(observation)), "20 x m.A 640");
}

struct ClassCase {
    const char* name;
    const char* graph;  // appended to kClass
    const char* cut;    // labels
};

std::ostream& operator<<(std::ostream& out, const ClassCase& one) {
    return out << one.name;
}

// A class created by a function.
const std::string kClass = "T:type=app.make.<locals>.Local T/__mro__->m:tuple m[0]->T ";

const ClassCase kClasses[] = {
    {"VariableOfAMethod",
     "T.__dict__->g:property g/__objclass__->T T.run->f:function=app.make.<locals>.Local.run "
     "f/closure:data->d:dict d['x']->t:owner(64)",
     "closure:data"},
    {"VariableOfAMethodOnTheCycle",
     "T.__init__->f:function=app.make.<locals>.Local.__init__ f/closure:__class__->T "
     "f/closure:data->d:dict d['x']->t:owner(64)",
     "closure:data"},
    {"VariableThatMethodsShare",
     "T.f->f:function=app.make.<locals>.Local.f T.g->g:function=app.make.<locals>.Local.g "
     "f/closure:data->x:cell g/closure:data->x x/cell_contents->t:owner(64)",
     "closure:data closure:data"},
    {"TwoReferencesToOneObject", "T.w->t:owner(64) T.f->f:function f/closure:v->t", ".w closure:v"},
    {"FunctionThatSeveralFunctionsLeadTo",
     "T.__init__->i:function i/closure:make->l:function=app.make.<locals>.<lambda> "
     "T.field->a=m.Field a.factory->l l/closure:t->t:owner(64)",
     "closure:t"},
    // From 3.14 on, the class has a cell with its original namespace.
    {"NamespaceForAnnotations",
     "T.defaults->d:dict d['x']->t:owner(64) T.__classdictcell__->c:cell "
     "c/cell_contents->n:dict n['__classdictcell__']->c n['x']->t "
     "T.__annotate__->a:function a/closure:__classdict__->c",
     ".defaults ['x']"},
    {"TooManyReferences", "T.a->t:owner(64) T.b->t T.c->t T.d->t", ""},
};

class Classes : public ::testing::TestWithParam<ClassCase> {};

TEST_P(Classes, CutThePayload) {
    const model::Finding finding = only(kClass + GetParam().graph);
    EXPECT_EQ(finding.pattern, "class-in-function");
    EXPECT_DOUBLE_EQ(finding.freed_share, finding.cut.empty() ? 0 : 1);
    EXPECT_THAT(finding.advice, HasSubstr("module level"));
    std::string labels;
    for (const model::Reference& reference : finding.cut) {
        EXPECT_TRUE(reference.payload);
        labels += (labels.empty() ? "" : " ") + reference.label;
    }
    EXPECT_EQ(labels, GetParam().cut);
    for (const model::Reference& other : finding.alternatives) {
        EXPECT_NE(other.label, "[0]");
        EXPECT_NE(other.label, ".__dict__");
    }
}

INSTANTIATE_TEST_SUITE_P(Cases, Classes, ::testing::ValuesIn(kClasses), [](const auto& info) {
    return std::string(info.param.name);
});

TEST(Classes, ThatShareAVariableAreOneFinding) {
    const std::string text = kClass +
                             "U:type=app.make.<locals>.Other U/__mro__->n:tuple n[0]->U "
                             "T.f->f:function=f@/app/a.py:3 U.g->g:function=g@/app/a.py:5 "
                             "f/closure:t->x:cell g/closure:t->x x/cell_contents->t:owner(64)";
    const model::Finding finding = only(text);
    EXPECT_EQ(finding.cut.size(), 2U);
    EXPECT_NE(finding.cut.at(0).holder, finding.cut.at(1).holder);
    EXPECT_EQ(finding.occurrences, 2U);
    EXPECT_EQ(finding.retained_bytes, 64U);
    EXPECT_EQ(finding.shared_bytes, 0U);
    ASSERT_EQ(finding.owners.size(), 1U);
    EXPECT_EQ(finding.owners[0].count, 1U);
    EXPECT_EQ(find(text + " U.w->u:owner(8)").size(), 2U) << "retains bytes of its own";
}

TEST(Classes, ThatOnlyDeriveFromAFindingAreNotReported) {
    const std::string text = kClass +
                             "D:type=app.make.<locals>.Derived D/__mro__->n:tuple n[0]->D n[1]->T "
                             "T.data->d:dict d['x']->t:owner(64)";
    EXPECT_EQ(only(text).cut.at(0).holder, "class app.make.<locals>.Local");
    EXPECT_EQ(find(text + " D.more->u:owner(8)").size(), 2U) << "retains bytes of its own";
}

TEST(Classes, ThatKeepAnotherCycleAreReported) {
    const auto findings = find(kClass + "T.node->a=m.Node a.me->a a.w->t:owner(64)");
    ASSERT_EQ(findings.size(), 2U);
    EXPECT_EQ(findings[0].cut.at(0).label, ".me");
    EXPECT_EQ(findings[0].retained_bytes, 64U);
    EXPECT_DOUBLE_EQ(findings[0].freed_share, 0);  // the class still keeps it alive
    EXPECT_EQ(findings[1].retained_bytes, 0U);
    ASSERT_EQ(findings[1].cut.size(), 1U);
    EXPECT_EQ(findings[1].cut[0].label, ".node");
    EXPECT_DOUBLE_EQ(findings[1].freed_share, 0);
}

TEST(Classes, AreNotTheCycleIfThereIsAnother) {
    const model::Finding method =
        only(kClass +
             "T.__init__->f:function=app.make.<locals>.Local.__init__ f/closure:Local->T "
             "T.known->l:list l[0]->a=app.make.<locals>.Local a/__class__->T a.w->t:owner(64)");
    EXPECT_THAT(method.title, Not(HasSubstr("closure")));
    EXPECT_EQ(method.cut.at(0).label, "[0]");
    const model::Finding instance = only(
        "T:type=app.Local T/__mro__->m:tuple m[0]->T a/__class__->T a.b->b b.a->a "
        "T.run->f:function f/closure:a->a a.w->t:owner(64)");
    ASSERT_EQ(instance.cycle.size(), 2U);
    EXPECT_THAT(instance.title, Not(HasSubstr("__class__")));
}

TEST(FreedShare, IsZeroIfAnotherCycleLeadsToTheFinding) {
    const auto findings = find("O.self->O O.x->p p.inner->N N.me->N N.w->t:owner(8)");
    ASSERT_EQ(findings.size(), 2U);
    EXPECT_EQ(findings[0].retained_bytes, 8U);
    EXPECT_DOUBLE_EQ(findings[0].freed_share, 0);
}

TEST(FreedShare, ExcludesMemoryThatANestedCycleLeadsTo) {
    const auto findings = find(
        "A.b->B B.a->A A.w->t:owner(8,s) A.more->m:owner(24) A.c->C C.me->C C.v->u:owner(8,s)");
    ASSERT_EQ(findings.size(), 2U);
    EXPECT_EQ(findings[0].retained_bytes, 32U);
    EXPECT_DOUBLE_EQ(findings[0].freed_share, 0.75);
}

TEST(FreedShare, IsUnknownIfOccurrencesDiffer) {
    const std::string large = "A=m.A B=m.B A.b->B B.a->A A.w->t:owner(16) ";
    EXPECT_DOUBLE_EQ(only(large).freed_share, 1);
    const model::Finding finding =
        only(large + "P=m.A Q=m.B S=m.S P.b->Q Q.a->P P.s->S S.a->P P.w->u:owner(8)");
    EXPECT_EQ(finding.occurrences, 2U);
    EXPECT_DOUBLE_EQ(finding.freed_share, 0);
}

TEST(Analyze, CollapsesTheTracebackChainOfAnException) {
    const std::string handler =
        "f:frame=app.work f/local:last->x:exception=ValueError x/__traceback__->a:traceback "
        "a/tb_frame->f f/local:batch->t:owner(64) ";
    const model::Finding here = only(handler);
    const model::Finding below = only(handler +
                                      "a/tb_next->b:traceback b/tb_frame->g:frame=app.read "
                                      "b/tb_next->c:traceback c/tb_frame->h:frame=app.parse");
    EXPECT_EQ(here.signature, below.signature);
    EXPECT_EQ(below.cycle.size(), 2U);
    EXPECT_EQ(below.cut.at(0).label, "local:last");
    EXPECT_TRUE(below.alternatives.empty()) << "the caller needs the traceback";
    // Most memory is behind the innermost frame, which refers to the cycle through f_back only.
    const model::Finding innermost = only(handler +
                                          "a/tb_next->b:traceback b/tb_frame->g:frame=app.read "
                                          "g/f_back->f g/local:data->u:owner(640)");
    EXPECT_EQ(here.signature, innermost.signature);
}

TEST(Analyze, SkipsSecondaryCyclesOfLibraries) {
    const std::string leak = "A.me->A A.w->t:owner(8) f/closure:f->f f/closure:x->A ";
    EXPECT_EQ(find(leak + "f:function=torch.fx.f@/x/site-packages/torch/a.py:1").size(), 1U);
    EXPECT_EQ(find(leak + "f:function=app.f").size(), 2U);
}

std::string ring(int size) {
    std::string text = "n0.w->t:owner(8)";
    for (int i = 0; i < size; ++i) {
        text += " n" + std::to_string(i) + ".next->n" + std::to_string((i + 1) % size);
    }
    return text;
}

TEST(Picture, IsBounded) {
    const model::Finding finding = only(ring(100));
    EXPECT_EQ(finding.cycle.size(), 100U);
    // Twelve items for the cycle, including one for the omitted nodes, and one for the tensor.
    EXPECT_EQ(finding.picture.items.size(), 13U);
    EXPECT_EQ(finding.picture.omitted_items, 101U - 12);
    EXPECT_TRUE(finding.picture.items[0].on_cycle);
    EXPECT_EQ(std::ranges::count(finding.picture.items, true, &model::Picture::Item::owner), 1);
    for (const auto& arrow : finding.picture.arrows) {
        EXPECT_LT(arrow.from, finding.picture.items.size());
        EXPECT_LT(arrow.to, finding.picture.items.size());
    }
}

TEST(Picture, DrawsEveryObjectIfThereAreFew) {
    const std::string pair = "A=m.Node B=m.Node A.link->B B.link->A ";
    EXPECT_EQ(only(pair + "A.w->t:owner(8) B.w->u:owner(8)").picture.omitted_items, 0U);
    // One of each group of equal tensors.
    std::string tensors;
    for (int i = 0; i < 7; ++i) {
        tensors += "A.w->l:list l[" + std::to_string(i) + "]->t" + std::to_string(i) + ":owner(8) ";
    }
    const model::Picture many = only(pair + tensors).picture;
    EXPECT_EQ(many.items.size(), 4U);
    EXPECT_EQ(many.omitted_items, 6U);
}

TEST(Cycle, IsBounded) {
    const model::Finding finding = only(ring(1000));
    ASSERT_EQ(finding.cycle.size(), 200U);
    EXPECT_EQ(finding.cycle[100].label, "... 801 more ...");
    for (std::size_t i = 0; i < finding.cycle.size(); ++i) {
        const std::size_t next = (i + 1) % finding.cycle.size();
        EXPECT_EQ(finding.cycle[i].target, finding.cycle[next].holder) << i;
    }
}

TEST(Cycle, GoesThroughTheNodeThatRetainsMost) {
    EXPECT_EQ(
        only("A.b->B B.a->A B.c->C C.d->D D.e->C D.b->B A.w->t:owner(8) D.w->u:owner(4096)").title,
        "D.e -> C.d -> D");
    EXPECT_EQ(only("A.b->B B.c->C C.a->A B.a->A A.w->t:owner(8)").cycle.size(), 2U) << "shortest";
}

}  // namespace
}  // namespace cyclewatch::analysis
