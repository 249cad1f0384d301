// SPDX-License-Identifier: Apache-2.0
#include "analysis/analyze.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "support/graph_text.h"

namespace cyclewatch::analysis {
namespace {

using test_support::observe;

std::vector<model::Finding> find(std::string_view text) {
    return analyze(observe(text));
}

model::Finding only(std::string_view text) {
    std::vector<model::Finding> findings = find(text);
    EXPECT_EQ(findings.size(), 1U) << text;
    return findings.empty() ? model::Finding{} : findings[0];
}

TEST(Analyze, SaysNothingOfOwnersWithNoCycleAboveThem) {
    EXPECT_TRUE(find("A.w->t:owner(8) A.b->B").empty());
    EXPECT_TRUE(find("A.b->B B.a->A t:owner(8)").empty());
    EXPECT_TRUE(find("A.b->B B.a->A").empty());
}

TEST(Analyze, TellsTheCycleInOrder) {
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

TEST(Bytes, CountAStorageOnceHoweverManyOwnersViewIt) {
    const model::Finding finding = only("A.b->B B.a->A A.v->t:owner(64,s) B.v->u:owner(64,s)");
    EXPECT_EQ(finding.retained_bytes, 64U);
    EXPECT_EQ(finding.shared_bytes, 0U);
    EXPECT_EQ(finding.owners.size(), 2U);
}

TEST(Bytes, OfTwoCyclesAreSharedWhereBothReach) {
    const auto findings =
        find("A.b->B B.a->A C.d->D D.c->C A.x->t:owner(64) C.x->t A.own->u:owner(8)");
    ASSERT_EQ(findings.size(), 2U);
    EXPECT_EQ(findings[0].retained_bytes, 8U);
    EXPECT_EQ(findings[0].shared_bytes, 64U);
    EXPECT_EQ(findings[0].shared_with, 1U);
    EXPECT_EQ(findings[0].attributed_bytes, 72U);
    EXPECT_EQ(findings[1].retained_bytes, 0U);
    EXPECT_EQ(findings[1].shared_bytes, 64U);
    EXPECT_EQ(findings[1].shared_with, 1U);
    EXPECT_EQ(findings[1].attributed_bytes, 0U);
}

TEST(Bytes, RankWhatIsSharedWithWhatIsHeldAlone) {
    const auto findings = find(
        "A.me->A A.w->t:owner(64) B.me->B B.x->t C.me->C C.x->t D.me->D D.w->u:owner(64) "
        "E.me->E E.w->v:owner(63)");
    ASSERT_EQ(findings.size(), 5U);
    EXPECT_EQ(findings[0].retained_bytes, 64U);  // of equal ones, what no other finding shares
    std::uint64_t attributed = 0;
    for (const model::Finding& finding : findings) {
        attributed += finding.attributed_bytes;
        EXPECT_EQ(finding.shared_with, finding.shared_bytes > 0 ? 2U : 0U);
    }
    EXPECT_EQ(findings[4].retained_bytes, 63U);
    EXPECT_EQ(attributed, 64U + 64U + 63U);
}

TEST(Bytes, HeldByOneFindingAreNotAttributedToAnotherThatLeadsToIt) {
    const auto findings = find("A.b->B B.a->A A.c->C C.d->D D.c->C D.x->t:owner(64)");
    ASSERT_EQ(findings.size(), 2U);
    EXPECT_EQ(findings[0].attributed_bytes, 64U);
    EXPECT_EQ(findings[0].shared_with, 0U);
    EXPECT_EQ(findings[1].attributed_bytes, 0U);
    EXPECT_EQ(findings[1].shared_with, 1U);
}

TEST(Bytes, OfACycleFurtherDownInTheSameFindingCountOnce) {
    const model::Finding finding =
        only("A=m.Node A.me->A A.next->B B=m.Node B.me->B B.w->t:owner(64)");
    EXPECT_EQ(finding.occurrences, 2U);
    EXPECT_EQ(finding.retained_bytes, 64U);
    EXPECT_EQ(finding.shared_bytes, 0U);
}

TEST(Bytes, OfAViewInAnotherCycleAreNotExclusive) {
    const auto findings = find("A.b->B B.a->A C.d->D D.c->C A.x->t:owner(64,s) C.x->u:owner(64,s)");
    ASSERT_EQ(findings.size(), 2U);
    EXPECT_EQ(findings[0].retained_bytes + findings[1].retained_bytes, 0U);
}

TEST(Bytes, SharedAmongCyclesOfOneFindingOnlyAreKeptByTheFinding) {
    const model::Finding finding = only(
        "A=m.Node A.me->A A.x->t:owner(64,s) B=m.Node B.me->B B.x->u:owner(64,s) "
        "C=m.Node C.me->C C.x->v:owner(8)");
    EXPECT_EQ(finding.occurrences, 3U);
    EXPECT_EQ(finding.retained_bytes, 72U);
    EXPECT_EQ(finding.shared_bytes, 0U);
}

TEST(Bytes, SharedWithAnotherFindingCountOnceForEach) {
    const auto findings = find(
        "A=m.Node A.me->A A.x->t:owner(64,s) B=m.Node B.me->B B.x->u:owner(64,s) "
        "C=m.Other C.me->C C.x->v:owner(64,s)");
    ASSERT_EQ(findings.size(), 2U);
    for (const model::Finding& finding : findings) {
        EXPECT_EQ(finding.retained_bytes, 0U);
        EXPECT_EQ(finding.shared_bytes, 64U);
    }
}

TEST(Bytes, BelongToTheNearestCycleThatKeepsThemAlone) {
    const auto findings = find("A.b->B B.a->A A.c->C C.d->D D.c->C D.x->t:owner(64)");
    ASSERT_EQ(findings.size(), 2U);
    EXPECT_EQ(findings[0].cycle[0].holder, "m.D");
    EXPECT_EQ(findings[0].retained_bytes, 64U);
    EXPECT_EQ(findings[1].retained_bytes, 0U);
    EXPECT_EQ(findings[1].shared_bytes, 64U);
}

TEST(Bytes, UnderTwoInnerCyclesBelongToTheOuterOne) {
    const auto findings =
        find("A.b->B B.a->A A.c->C C.me->C A.d->D D.me->D C.x->t:owner(64) D.x->t");
    ASSERT_EQ(findings.size(), 3U);
    EXPECT_EQ(findings[0].title.substr(0, 1), "A");
    EXPECT_EQ(findings[0].retained_bytes, 64U);
}

TEST(Bytes, ThatAnObjectOfUnseenHoldersKeepsTooAreShared) {
    const model::Finding finding = only("A.b->B B.a->A A.x->t:owner(64) X.x->t");
    EXPECT_EQ(finding.retained_bytes, 0U);
    EXPECT_EQ(finding.shared_bytes, 64U);
    EXPECT_EQ(finding.shared_with, 0U);
    EXPECT_EQ(finding.attributed_bytes, 64U);
}

TEST(Bytes, StillHeldBySomethingAliveAreNotCountedButListed) {
    const model::Finding finding = only("A.b->B B.a->A A.x->t:owner(64,s,held) B.y->u:owner(8)");
    EXPECT_EQ(finding.retained_bytes, 8U);
    EXPECT_EQ(finding.shared_bytes, 0U);
    ASSERT_EQ(finding.owners.size(), 2U);
    EXPECT_EQ(finding.owners[0].bytes, 64U);
}

TEST(Bytes, StillHeldBySomethingAliveAreNoFindingOfTheirOwn) {
    EXPECT_TRUE(find("A.b->B B.a->A A.x->t:owner(64,s,held)").empty());
    EXPECT_TRUE(find("A.b->B B.a->A A.c->C C.me->C C.x->t:owner(64,s,held)").empty());
    const model::Finding finding =
        only("A.b->B B.a->A A.x->t:owner(64,s,held) C.me->C C.x->t C.y->u:owner(8)");
    EXPECT_EQ(finding.title, "C.me -> C");
}

TEST(Bytes, OfAnOwnerInTheCycleItself) {
    const model::Finding finding = only("T=m.MyTensor T.ctx->C C.out->T T:owner(32)");
    EXPECT_EQ(finding.retained_bytes, 32U);
    EXPECT_EQ(finding.owners[0].path, "MyTensor");
}

TEST(Merge, EqualCyclesAreOneFindingWithACount) {
    std::string text;
    for (int i = 0; i < 500; ++i) {
        const std::string n = std::to_string(i);
        text += " a" + n + "=m.Node b" + n + "=m.Node a" + n + ".other->b" + n + " b" + n +
                ".other->a" + n + " a" + n + ".w->t" + n + ":owner(16)=torch.Tensor";
    }
    const model::Finding finding = only(text);
    EXPECT_EQ(finding.occurrences, 500U);
    EXPECT_EQ(finding.retained_bytes, 8000U);
    EXPECT_EQ(finding.largest_bytes, 16U);
    ASSERT_EQ(finding.owners.size(), 1U);
    EXPECT_EQ(finding.owners[0].count, 500U);
    EXPECT_EQ(finding.owners[0].path, "Node.w");
}

TEST(Merge, OwnersReachedByDifferentIndicesAreCountedTogether) {
    const model::Finding finding = only("A.me->A A.l->l:list l[0]->t:owner(16) l[1]->u:owner(16)");
    ASSERT_EQ(finding.owners.size(), 1U);
    EXPECT_EQ(finding.owners[0].count, 2U);
    EXPECT_EQ(finding.owners[0].path, "A.l[x]");
}

TEST(Merge, CountsClustersThatWereNotCaptured) {
    model::Observation observation = observe("A.b->B B.a->A A.w->t:owner(16)");
    observation.repeats.push_back({observation.owners[0].node, 9, 9, 144});
    const auto findings = analyze(observation);
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].occurrences, 10U);
    EXPECT_EQ(findings[0].retained_bytes, 160U);
    EXPECT_EQ(findings[0].largest_bytes, 16U);
    EXPECT_EQ(findings[0].owners[0].count, 10U);
}

TEST(Merge, CountsBytesThatSeveralCyclesOfAClusterShareOnceForEachCluster) {
    model::Observation observation =
        observe("a=m.A b=m.B a.b->b b.a->a c=m.A d=m.B c.b->d d.a->c a.w->t:owner(64) c.w->t");
    observation.repeats.push_back({observation.owners[0].node, 9, 9, 576});
    const auto findings = analyze(observation);
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].occurrences, 20U);
    EXPECT_EQ(findings[0].retained_bytes + findings[0].shared_bytes, 640U);
}

TEST(Merge, KeepsAtMostSoManyOwnersAndSaysHowManyNot) {
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

TEST(Classes, MadeOnEachCallAreBlamedOnWhatTheirFunctionsCapture) {
    const model::Finding finding = only(
        "T:type=app.make.<locals>.Local T/__mro__->m:tuple m[0]->T T.__dict__->g:property "
        "g/__objclass__->T T.run->f:function=app.make.<locals>.Local.run "
        "f/closure:data->d:dict d['x']->t:owner(64)");
    ASSERT_EQ(finding.cut.size(), 1U);
    EXPECT_EQ(finding.cut[0].label, "closure:data");
    EXPECT_TRUE(finding.cut[0].payload);
    for (const model::Reference& other : finding.alternatives) {
        EXPECT_NE(other.label, "[0]");
        EXPECT_NE(other.label, ".__dict__");
    }
}

// A class made on each call; what hangs on it is added.
const std::string kClass = "T:type=app.make.<locals>.Local T/__mro__->m:tuple m[0]->T ";

TEST(Analyze, SeesTheFramesOfATracebackAsTheExceptions) {
    const std::string handler =
        "f:frame=app.work f/local:last->x:exception=ValueError x/__traceback__->a:traceback "
        "a/tb_frame->f f/local:batch->t:owner(64) ";
    const auto here = analyze(observe(handler));
    const auto below =
        analyze(observe(handler + "a/tb_next->b:traceback b/tb_frame->g:frame=app.read "
                                  "b/tb_next->c:traceback c/tb_frame->h:frame=app.parse"));
    ASSERT_EQ(here.size(), 1U);
    ASSERT_EQ(below.size(), 1U);
    EXPECT_EQ(here[0].signature, below[0].signature);
    EXPECT_EQ(below[0].cycle.size(), 2U);
    EXPECT_EQ(below[0].cut.at(0).label, "local:last");
    // Most of the memory hangs on the innermost frame, from which f_back alone leads on.
    const auto heavy =
        analyze(observe(handler + "a/tb_next->b:traceback b/tb_frame->g:frame=app.read "
                                  "g/f_back->f g/local:data->u:owner(640)"));
    ASSERT_EQ(heavy.size(), 1U);
    EXPECT_EQ(here[0].signature, heavy[0].signature);
    // To clear the traceback is one thing to do, however many frames it has.
    EXPECT_EQ(below[0].alternatives.at(0).label, "__traceback__");
    EXPECT_EQ(below[0].alternatives.at(0).reason.find("of this kind"), std::string::npos);
}

TEST(Analyze, TakesNoReferenceThatAnnotationsNeedForAnAnswer) {
    // What 3.14 keeps of a NamedTuple that is made on each call: the namespace it was made from,
    // by way of a cell that the namespace has too.
    const std::string text = kClass +
                             "T.defaults->d:dict d['x']->t:owner(64) T.__classdictcell__->c:cell "
                             "c/cell_contents->n:dict n['__classdictcell__']->c n['x']->t "
                             "T.__annotate__->a:function a/closure:__classdict__->c";
    const auto findings = analyze(observe(text));
    ASSERT_EQ(findings.size(), 1U);
    ASSERT_EQ(findings[0].cut.size(), 2U);
    EXPECT_EQ(findings[0].cut[0].label, ".defaults");
    EXPECT_EQ(findings[0].cut[1].label, "['x']");
}

TEST(Classes, AreBlamedOnTheVariableThatTheirMethodsShare) {
    const model::Finding finding =
        only(kClass +
             "T.f->f:function=app.make.<locals>.Local.f T.g->g:function=app.make.<locals>.Local.g "
             "f/closure:data->x:cell g/closure:data->x x/cell_contents->t:owner(64)");
    EXPECT_EQ(finding.pattern, "class-in-function");
    ASSERT_EQ(finding.cut.size(), 2U);
    EXPECT_EQ(finding.cut[0].label, "closure:data");
    EXPECT_EQ(finding.cut[1].label, "closure:data");
    EXPECT_NE(finding.cut[0].holder, finding.cut[1].holder);
    EXPECT_DOUBLE_EQ(finding.freed_share, 1);
}

TEST(Classes, ThatKeepAnObjectTwiceAreBlamedOnBoth) {
    const model::Finding finding = only(kClass + "T.w->t:owner(64) T.f->f:function f/closure:v->t");
    EXPECT_EQ(finding.pattern, "class-in-function");
    ASSERT_EQ(finding.cut.size(), 2U);
    EXPECT_EQ(finding.cut[0].label, ".w");
    EXPECT_EQ(finding.cut[1].label, "closure:v");
    EXPECT_DOUBLE_EQ(finding.freed_share, 1);
}

TEST(Classes, AreBlamedOnWhatSeveralOfTheirFunctionsLeadTo) {
    const model::Finding finding =
        only(kClass +
             "T.__init__->i:function i/closure:make->l:function=app.make.<locals>.<lambda>"
             " T.field->a=m.Field a.factory->l l/closure:t->t:owner(64)");
    ASSERT_EQ(finding.cut.size(), 1U);
    EXPECT_EQ(finding.cut[0].label, "closure:t");
}

TEST(Classes, ThatShareAVariableAreOneFinding) {
    const std::string other = "U:type=app.make.<locals>.Other U/__mro__->n:tuple n[0]->U ";
    const model::Finding finding =
        only(kClass + other +
             "T.f->f:function U.g->g:function f/closure:t->x:cell g/closure:t->x "
             "x/cell_contents->t:owner(64)");
    EXPECT_EQ(finding.cut.size(), 2U);
    EXPECT_EQ(finding.occurrences, 2U);
    EXPECT_EQ(finding.retained_bytes, 64U);
    EXPECT_EQ(finding.shared_bytes, 0U);
    ASSERT_EQ(finding.owners.size(), 1U);
    EXPECT_EQ(finding.owners[0].count, 1U);
    // What one of them keeps alone makes it a finding of its own.
    EXPECT_EQ(analyze(observe(kClass + other +
                              "T.f->f:function U.g->g:function f/closure:t->x:cell "
                              "g/closure:t->x x/cell_contents->t:owner(64) U.w->u:owner(8)"))
                  .size(),
              2U);
}

TEST(Classes, WithoutAFewReferencesToDropAreStillRecognised) {
    const model::Finding finding = only(kClass + "T.a->t:owner(64) T.b->t T.c->t T.d->t");
    EXPECT_EQ(finding.pattern, "class-in-function");
    EXPECT_TRUE(finding.cut.empty());
    EXPECT_NE(finding.advice.find("module level"), std::string::npos);
}

TEST(Classes, ThatOnlyDeriveFromTheOneThatKeepsAreNoFindingOfTheirOwn) {
    const std::string derived =
        "D:type=app.make.<locals>.Derived D/__mro__->n:tuple n[0]->D n[1]->T ";
    const std::string data = "T.data->d:dict d['x']->t:owner(64)";
    EXPECT_EQ(only(kClass + derived + data).cut.at(0).holder, "class app.make.<locals>.Local");
    // What it keeps itself makes it one.
    EXPECT_EQ(analyze(observe(kClass + derived + data + " D.more->u:owner(8)")).size(), 2U);
}

TEST(Classes, ThatKeepAnotherCycleAreAFindingOfTheirOwn) {
    const auto findings = analyze(observe(kClass + "T.node->a=m.Node a.me->a a.w->t:owner(64)"));
    ASSERT_EQ(findings.size(), 2U);
    EXPECT_EQ(findings[0].cut.at(0).label, ".me");
    EXPECT_EQ(findings[0].retained_bytes, 64U);
    EXPECT_DOUBLE_EQ(findings[0].freed_share, 0);  // the class goes on to keep it
    EXPECT_EQ(findings[1].retained_bytes, 0U);
    ASSERT_EQ(findings[1].cut.size(), 1U);
    EXPECT_EQ(findings[1].cut[0].label, ".node");
    EXPECT_DOUBLE_EQ(findings[1].freed_share, 0);
}

TEST(Cycles, FreeNothingAloneWhereAnotherOneLeadsToThem) {
    const auto findings = analyze(observe("O.self->O O.x->p p.inner->N N.me->N N.w->t:owner(8)"));
    ASSERT_EQ(findings.size(), 2U);
    EXPECT_EQ(findings[0].retained_bytes, 8U);
    EXPECT_DOUBLE_EQ(findings[0].freed_share, 0);
}

TEST(Cycles, FreeNotAtOnceWhatACycleFurtherDownLeadsToAsWell) {
    const std::string rest = " C.me->C C.v->u:owner(8,s)";
    const auto findings =
        analyze(observe("A.b->B B.a->A A.w->t:owner(8,s) A.more->m:owner(24) A.c->C" + rest));
    ASSERT_EQ(findings.size(), 2U);
    EXPECT_EQ(findings[0].retained_bytes, 32U);
    EXPECT_DOUBLE_EQ(findings[0].freed_share, 0.75);
}

TEST(Cycles, PromiseNothingWhereTheyWereFoundInSeveralForms) {
    const std::string large = "A=m.A B=m.B A.b->B B.a->A A.w->t:owner(16) ";
    const std::string with_another =
        "P=m.A Q=m.B S=m.S P.b->Q Q.a->P P.s->S S.a->P P.w->u:owner(8)";
    EXPECT_DOUBLE_EQ(only(large).freed_share, 1);
    const model::Finding finding = only(large + with_another);
    EXPECT_EQ(finding.occurrences, 2U);
    EXPECT_DOUBLE_EQ(finding.freed_share, 0);
}

TEST(Classes, AreBlamedOnAMethodThatIsOnTheirCycleToo) {
    const model::Finding finding =
        only(kClass +
             "T.__init__->f:function=app.make.<locals>.Local.__init__ f/closure:__class__->T "
             "f/closure:data->d:dict d['x']->t:owner(64)");
    EXPECT_EQ(finding.pattern, "class-in-function");
    EXPECT_EQ(finding.cut.at(0).label, "closure:data");
}

TEST(Cycles, OfALibraryThatKeepNothingAreNoFindingOfTheirOwn) {
    const std::string mine = "A.me->A A.w->t:owner(8) ";
    EXPECT_EQ(analyze(observe(mine + "f:function=torch.fx.f@/x/site-packages/torch/a.py:1 "
                                     "f/closure:f->f f/closure:x->A"))
                  .size(),
              1U);
    EXPECT_EQ(analyze(observe(mine + "f:function=app.f f/closure:f->f f/closure:x->A")).size(), 2U);
}

TEST(Classes, AreNoCycleOfAMethodThatNamesItsClass) {
    const model::Finding finding =
        only(kClass +
             "T.__init__->f:function=app.make.<locals>.Local.__init__ f/closure:Local->T "
             "T.known->l:list l[0]->a=app.make.<locals>.Local a/__class__->T a.w->t:owner(64)");
    EXPECT_EQ(finding.title.find("closure"), std::string::npos) << finding.title;
    EXPECT_EQ(finding.cut.at(0).label, "[0]");
}

TEST(Classes, AreNotTheCycleWhereAnotherOneExists) {
    const model::Finding finding = only(
        "T:type=app.Local T/__mro__->m:tuple m[0]->T a/__class__->T a.b->b b.a->a "
        "T.run->f:function f/closure:a->a a.w->t:owner(64)");
    ASSERT_EQ(finding.cycle.size(), 2U);
    for (const model::Reference& step : finding.cycle) {
        EXPECT_NE(step.label, "__class__");
    }
}

TEST(Picture, ShowsTheCycleFirstAndStaysSmall) {
    std::string text = "n0.w->t:owner(8)";
    for (int i = 0; i < 100; ++i) {
        text += " n" + std::to_string(i) + ".next->n" + std::to_string((i + 1) % 100);
    }
    const model::Finding finding = only(text);
    EXPECT_EQ(finding.cycle.size(), 100U);
    EXPECT_LE(finding.picture.items.size(), 40U);
    // Ten places of the ring, one of them the gap, and the tensor.
    EXPECT_EQ(finding.picture.items.size(), 11U);
    EXPECT_EQ(finding.picture.omitted_items, 101U - 10);
    EXPECT_TRUE(finding.picture.items[0].on_cycle);
    std::size_t owners = 0;
    for (const auto& item : finding.picture.items) {
        owners += item.owner ? 1 : 0;
    }
    EXPECT_EQ(owners, 1U);
    for (const auto& arrow : finding.picture.arrows) {
        EXPECT_LT(arrow.from, finding.picture.items.size());
        EXPECT_LT(arrow.to, finding.picture.items.size());
    }
}

TEST(Analyze, ShortensACycleThatNobodyWouldRead) {
    std::string text = "n0.w->t:owner(8)";
    for (int i = 0; i < 1000; ++i) {
        text += " n" + std::to_string(i) + ".next->n" + std::to_string((i + 1) % 1000);
    }
    const model::Finding finding = only(text);
    ASSERT_EQ(finding.cycle.size(), 200U);
    EXPECT_EQ(finding.cycle[100].label, "... 801 more ...");
    for (std::size_t i = 0; i < finding.cycle.size(); ++i) {
        const std::size_t next = (i + 1) % finding.cycle.size();
        EXPECT_EQ(finding.cycle[i].target, finding.cycle[next].holder) << i;
    }
}

// Everything that a report shows, as text.
std::string printed(const std::vector<model::Finding>& findings) {
    std::string text;
    const auto add = [&text](const model::Reference& reference) {
        text += reference.holder + reference.label + reference.target + reference.location +
                reference.reason + "\n";
    };
    for (const model::Finding& finding : findings) {
        text += finding.signature + finding.title + finding.remedy + finding.pattern +
                std::to_string(finding.retained_bytes) + "/" +
                std::to_string(finding.shared_bytes) + "/" + std::to_string(finding.largest_bytes) +
                "*" + std::to_string(finding.occurrences) + "\n";
        for (const auto* list : {&finding.cycle, &finding.cut, &finding.alternatives}) {
            std::for_each(list->begin(), list->end(), add);
        }
        for (const model::OwnerSummary& owner : finding.owners) {
            std::uint64_t over = 0;
            std::set<model::StorageId> storages;
            for (const model::StorageShare& share : owner.storages) {
                over += share.owners;
                storages.insert(share.storage);
            }
            text += owner.path + "*" + std::to_string(owner.count) + " " + std::to_string(over) +
                    " over " + std::to_string(storages.size()) + "\n";
        }
        text += "and " + std::to_string(finding.omitted_owners) + "\n";
        for (const auto& item : finding.picture.items) {
            text += item.text + " ";
        }
        text += "and " + std::to_string(finding.picture.omitted_items) + "\n";
    }
    return text;
}

TEST(Determinism, TheSameGarbageGivesTheSameReportInWhateverOrderItCame) {
    const std::string_view text =
        "r=m.Node a=m.Node b=m.Node c=m.Node r.left->a r.right->b a.up->r b.up->r a.twin->b "
        "b.twin->a c.twin->a a.kid->c r.w->t:owner(64) a.w->u:owner(64) b.w->v:owner(64) "
        "E.cb->l:list l[0]->f:function l[1]->g:function f/closure:self->E g/closure:self->E "
        "E.root->r E.w->x:owner(128)";
    const std::string expected = printed(analyze(observe(text)));
    ASSERT_FALSE(expected.empty());
    for (std::uint64_t shuffle = 1; shuffle < 100; ++shuffle) {
        ASSERT_EQ(printed(analyze(observe(text, shuffle))), expected) << "shuffle " << shuffle;
    }
}

TEST(Determinism, ObjectsOfOneNameAreToldApartByWhatSurroundsThem) {
    const std::string_view text =
        "A.s->s:set s/element->a s/element->b s/element->c a=m.N b=m.N c=m.N a.up->A b.back->A "
        "c.x->d d=m.M d.y->A A.w->t:owner(8)";
    const std::string expected = printed(analyze(observe(text)));
    for (std::uint64_t shuffle = 1; shuffle < 50; ++shuffle) {
        ASSERT_EQ(printed(analyze(observe(text, shuffle))), expected) << "shuffle " << shuffle;
    }
}

// Two ways out of one object and back to it that are equal except far from it. The owners hang in
// the middle of both, so that it is the same from either.
TEST(Determinism, CyclesThatDifferFarFromWhereTheyStartAreToldApart) {
    std::string text = "R=m.R s:set R.s->s R.w->t:owner(64)";
    for (const std::string way : {"a", "b"}) {
        text += " s/element->" + way + "0";
        for (int i = 0; i < 30; ++i) {
            const std::string node = way + std::to_string(i);
            const std::string next = i == 29 ? "R" : way + std::to_string(i + 1);
            text += " " + node + ".n->" + next + " " + node + "=m." + (i == 15 ? way : "N");
        }
    }
    const std::string expected = printed(analyze(observe(text)));
    ASSERT_FALSE(expected.empty());
    for (std::uint64_t shuffle = 1; shuffle < 30; ++shuffle) {
        ASSERT_EQ(printed(analyze(observe(text, shuffle))), expected) << "shuffle " << shuffle;
    }
}

// Two rings, references between them, and owners that both may reach; `copy` tells its nodes and
// storages from those of others.
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

TEST(Merge, CountsEqualClustersAsIfEachWereLookedAt) {
    for (std::uint32_t seed = 0; seed < 200; ++seed) {
        std::string text;
        for (int copy = 0; copy < 12; ++copy) {
            text += random_cluster(seed + (copy % 4 == 3 ? 1 : 0), copy);
        }
        // In another order of nodes no two clusters look equal, number by number.
        const std::string expected = printed(analyze(observe(text, 7)));
        ASSERT_EQ(printed(analyze(observe(text))), expected) << text;
    }
}

TEST(Merge, OfCyclesThatAreEqualButForWhatTheyShareTellsThemApart) {
    const std::string pair = "=m.Node a.me->a b=m.Node b.me->b c=m.Node c.me->c ";
    const model::Finding shared =
        only("a" + pair +
             "a.w->t:owner(64,s) b.w->u:owner(64,s) c.w->v:owner(64,z) d=m.Node d.me->d "
             "d.w->x:owner(64,z) X.x->x");
    EXPECT_EQ(shared.occurrences, 4U);
    EXPECT_EQ(shared.retained_bytes, 64U);
    EXPECT_EQ(shared.shared_bytes, 64U);
}

TEST(Cycle, GoesThroughTheNodeThatKeepsMost) {
    const model::Finding finding =
        only("A.b->B B.a->A B.c->C C.d->D D.e->C D.b->B A.w->t:owner(8) D.w->u:owner(4096)");
    EXPECT_EQ(finding.cycle[0].holder, "m.D");
    EXPECT_EQ(finding.title, "D.e -> C.d -> D");
}

TEST(Cycle, IsTheShortestThroughThatNode) {
    const model::Finding finding = only("A.b->B B.c->C C.a->A B.a->A A.w->t:owner(8)");
    EXPECT_EQ(finding.cycle.size(), 2U);
}

}  // namespace
}  // namespace cyclewatch::analysis
