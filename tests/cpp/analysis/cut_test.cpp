// SPDX-License-Identifier: Apache-2.0
#include "analysis/cut.h"

#include <gtest/gtest.h>

#include <set>

#include "analysis/analyze.h"
#include "support/graph_text.h"
#include "support/random_graph.h"

namespace cyclewatch::analysis {
namespace {

using test_support::observe;

model::Finding only(std::string_view text) {
    const auto findings = analyze(observe(text));
    EXPECT_EQ(findings.size(), 1U) << text;
    return findings.empty() ? model::Finding{} : findings[0];
}

TEST(Cut, SaysSoWhenTwoAreEquallyGood) {
    const model::Finding finding =
        only("a=m.Node b=m.Node a.other->b b.other->a a.w->t:owner(8) b.w->u:owner(8)");
    EXPECT_TRUE(finding.tie);
    ASSERT_EQ(finding.cut.size(), 1U);
    ASSERT_FALSE(finding.alternatives.empty());
    EXPECT_EQ(finding.cut[0].label, ".other");
    EXPECT_EQ(finding.alternatives[0].label, ".other");
}

TEST(Cut, SaysSoWhenOnlyNamesTellWhichWayIsBack) {
    const model::Finding chain =
        only("a=m.Stage b=m.Stage a.next->b b.prev_stage->a a.w->t:owner(8) b.w->u:owner(8)");
    EXPECT_TRUE(chain.tie);
    EXPECT_EQ(chain.cut.at(0).label, ".prev_stage");
    EXPECT_EQ(chain.alternatives.at(0).label, ".next");
    EXPECT_EQ(chain.remedy, "cut Stage.prev_stage or, if the names mislead, Stage.next");
    const model::Finding tree =
        only("a=m.Stage b=m.Stage a.left->b b.parent->a a.w->t:owner(8) b.w->u:owner(8)");
    EXPECT_FALSE(tree.tie);
    EXPECT_EQ(tree.cut.at(0).label, ".parent");
}

TEST(Cut, CallsNoReferenceAsGoodThatHasToGoWithOthersElsewhere) {
    const model::Finding finding = only(
        "N.stage->E E.core->N E.next->D D.core->N D.next->H H.core->N H.next->L L.core->N "
        "E.w->t:owner(8)");
    EXPECT_EQ(finding.cut.at(0).label, ".stage");
    EXPECT_FALSE(finding.tie);
}

TEST(Cut, TakesAllFunctionsThatShareOneVariable) {
    const model::Finding finding = only(
        "E.a->f:function E.b->g:function E.c->h:function f/closure:self->x:cell "
        "g/closure:self->x h/closure:self->x x/cell_contents->E E.w->t:owner(8)");
    ASSERT_EQ(finding.cut.size(), 3U);
    EXPECT_NE(finding.cut[0].reason.find("share this one variable"), std::string::npos);
}

TEST(Cut, NamesASetWhereEveryReferenceClosesALoopOfItsOwn) {
    const model::Finding finding = only(
        "E.a->f:function E.b->g:function f/closure:self->E g/closure:self->E "
        "E.w->t:owner(8)");
    ASSERT_EQ(finding.cut.size(), 2U);
    EXPECT_NE(finding.cut[0].holder, finding.cut[1].holder);
    EXPECT_FALSE(finding.tie);
}

TEST(Cut, PrefersTwoWaysFromAPartBackToItsWholeToTheWayThere) {
    const model::Finding finding =
        only("E.cbs->l:list l[0]->c=m.Saver c.parent->E c.owner->E E.w->t:owner(8)");
    ASSERT_EQ(finding.cut.size(), 2U);
    EXPECT_EQ(finding.cut[0].holder, "m.Saver");
    EXPECT_EQ(finding.cut[1].holder, "m.Saver");
    EXPECT_EQ(finding.alternatives.at(0).holder, "list");
    // But not two ways from a function: what leads to that is one place.
    const model::Finding method =
        only("E.cbs->l:list l[0]->f:function f/closure:self->E f/closure:owner->E E.w->t:owner(8)");
    EXPECT_EQ(method.cut.size(), 1U);
}

TEST(Cut, SaysOfEachMemberOfASetThatAllLikeItMustGo) {
    const model::Finding finding = only(
        "E.cbs->l:list l[0]->c=m.Saver c.parent->E c.owner->E l[1]->d=m.Saver d.parent->E "
        "d.owner->E E.w->t:owner(8)");
    EXPECT_EQ(finding.remedy, "cut Saver.owner and all like it and Saver.parent and all like it");
}

TEST(Cut, NamesTheSmallestSetAlthoughABetterReferenceIsInNone) {
    // The loop that is looked at has three ways back; its way there ends all of them.
    const model::Finding finding =
        only("A.me->A A.w->t:owner(8) A.first->B B.one->A B.two->A B.three->A");
    ASSERT_EQ(finding.cut.size(), 2U);
    EXPECT_EQ(finding.cut[0].label, ".me");
    EXPECT_EQ(finding.cut[1].label, ".first");
}

TEST(Cut, NamesAReferenceByWhichALoopOnlyLeadsToTheMemory) {
    // C's own two loops may stay, once what leads from them to the memory is cut.
    const model::Finding finding = only(
        "A=m.A B=m.B C=m.C D=m.D A.w->t:owner(8) A.b->B B.me->B B.d->D D.one->A D.two->A D.c->C "
        "C.a->A C.me->C C.too->C C.b->B");
    ASSERT_EQ(finding.cut.size(), 2U);
    EXPECT_EQ(finding.cut[0].label, ".d");
    EXPECT_EQ(finding.cut[1].holder, "m.C");
    EXPECT_EQ(finding.cut[1].label, ".a");
    EXPECT_NE(finding.cut[1].reason.find("all 2 references listed: without any one of them"),
              std::string::npos);
}

TEST(Cut, CountsAKindOfReferenceThatOneLineMakesAgainAndAgain) {
    const model::Finding finding = only(
        "P=m.Tree a=m.Leaf b=m.Leaf P.kids->l:list l[0]->a l[1]->b a.parent->P b.parent->P "
        "a.w->t:owner(8) b.w->u:owner(8)");
    ASSERT_EQ(finding.cut.size(), 1U);
    EXPECT_EQ(finding.cut[0].label, ".parent");
    EXPECT_NE(finding.cut[0].reason.find("2 references"), std::string::npos);
}

constexpr std::string_view kTrainer = "T=m.Trainer T.w->t:owner(8) T.callbacks->l:list ";

TEST(Cut, PrefersAFewWaysBackToTheListThatIsTheFeature) {
    const model::Finding finding = only(
        std::string(kTrainer) + "a=m.Saver b=m.Early l[0]->a l[1]->b a.trainer->T b.trainer->T");
    ASSERT_EQ(finding.cut.size(), 2U);
    EXPECT_EQ(finding.cut[0].label, ".trainer");
    EXPECT_EQ(finding.cut[1].label, ".trainer");
    ASSERT_FALSE(finding.alternatives.empty());
    EXPECT_EQ(finding.alternatives[0].label, ".callbacks");
}

TEST(Cut, TellsManyWaysBackToOneObjectAsOne) {
    const model::Finding finding = only(std::string(kTrainer) +
                                        "a=m.A b=m.B c=m.C d=m.D l[0]->a l[1]->b l[2]->c l[3]->d "
                                        "a.trainer->T b.trainer->T c.trainer->T d.trainer->T");
    ASSERT_EQ(finding.cut.size(), 4U);
    EXPECT_EQ(finding.cut[0].label, ".trainer");
    EXPECT_NE(finding.cut[0].reason.find("4 references of this name"), std::string::npos);
    EXPECT_FALSE(finding.tie);
}

TEST(Cut, KeepsTheSingleReferenceWhereASetIsNoClearer) {
    const model::Finding finding = only(
        "T=m.Trainer T.w->t:owner(8) T.core->c c=m.Core a=m.A b=m.B c.a->a c.b->b "
        "a.x->T b.y->T");
    ASSERT_EQ(finding.cut.size(), 1U);
    EXPECT_EQ(finding.cut[0].label, ".core");
}

TEST(Cut, NamesNoSetWhereOneReferenceThatIsNoFeatureDoes) {
    const model::Finding finding = only(
        "J=m.Job J.w->t:owner(8) J.last->e:exception=ValueError e/__traceback__->b:traceback "
        "b/tb_frame->f:frame=m.outer f/local:e->e f/local:self->J b/tb_next->c:traceback "
        "c/tb_frame->g:frame=m.inner g/local:e->e g/local:self->J");
    ASSERT_EQ(finding.cut.size(), 1U);
    EXPECT_EQ(finding.cut[0].label, "__traceback__");
}

TEST(Cut, NamesNothingOfTheTupleOfAnExceptionGroup) {
    const model::Finding finding = only(
        "R=m.Runner R.w->t:owner(8) R.failure->x:exception=ExceptionGroup x/exceptions->p:tuple "
        "p[0]->e:exception=ValueError e/__traceback__->b:traceback b/tb_frame->f:frame=m.all "
        "f/local:self->R b/tb_next->c:traceback c/tb_frame->g:frame=m.one g/local:self->R");
    ASSERT_EQ(finding.cut.size(), 1U);
    EXPECT_EQ(finding.cut[0].label, ".failure");
    for (const model::Reference& other : finding.alternatives) {
        EXPECT_NE(other.label, "exceptions");
        EXPECT_NE(other.label, "[0]");
    }
}

TEST(Cut, SpeaksOfNoFramesWhereAnExceptionLeadsBackByItsArguments) {
    const model::Finding finding = only(
        "T=m.Trainer T.w->t:owner(8) T.failed->l:list l[0]->e:exception=m.StepError "
        "e/args->a:tuple a[1]->T");
    EXPECT_NE(finding.pattern, "exception-stored");
    EXPECT_EQ(finding.cut.size(), 1U);
    for (const model::Reference& other : finding.alternatives) {
        EXPECT_EQ(other.reason.find("frames"), std::string::npos) << other.label;
    }
}

TEST(Cut, CallsATupleNoRegistry) {
    const model::Finding finding = only("T=m.Step T.w->t:owner(8) T.last_args->a:tuple a[0]->T");
    EXPECT_EQ(finding.cut.at(0).label, "[0]");
    EXPECT_NE(finding.cut.at(0).reason.find("a tuple, as of arguments"), std::string::npos);
    EXPECT_EQ(finding.advice.find("WeakSet"), std::string::npos);
}

TEST(Cut, LooksABuiltInMethodUpInsteadOfKeepingItWeakly) {
    const model::Finding finding =
        only("F=m.Feeder F.w->t:owner(8) F.step->b=method-wrapper b/__self__->F");
    EXPECT_EQ(finding.cut.at(0).label, "__self__");
    EXPECT_EQ(finding.advice, "Look the method up when calling it.");
}

TEST(Cut, GivesAPartialThePlaceOfTheAttributeThatKeepsIt) {
    const model::Finding finding =
        only("F=m.Feeder@/app/a.py:3 F.w->t:owner(8) F.collate->p:partial p/args[0]->F");
    EXPECT_EQ(finding.cut.at(0).location, "/app/a.py:3");
    EXPECT_EQ(finding.remedy, "cut Feeder.collate.args[0] (a.py:3)");
}

TEST(Cut, CallsACoroutineOne) {
    const model::Finding finding =
        only("L=m.Loader L.w->t:owner(8) L.pending->c:coroutine=m.fetch c/local:owner->L");
    EXPECT_EQ(finding.pattern, "generator-on-owner");
    EXPECT_EQ(finding.cut.at(0).holder, "coroutine m.fetch");
}

TEST(Cut, SaysOfAnItemWhichListItIsIn) {
    const model::Finding finding = only(
        "f:frame=m.compare@/app/a.py:7 f/local:errors->l:list l[0]->e:exception=ValueError "
        "e/__traceback__->b:traceback b/tb_frame->f f/local:actual->t:owner(8)");
    ASSERT_EQ(finding.cut.size(), 1U);
    EXPECT_EQ(finding.cut[0].holder, "list");
    EXPECT_EQ(finding.cut[0].location, "/app/a.py:7");
    EXPECT_EQ(finding.remedy, "cut compare.local:errors[0] (a.py:7)");
}

TEST(Cut, PrefersTheCaptureToTheAttributeThatIsTheFeature) {
    const model::Finding finding =
        only("M.forward->f:function=m.patched f/closure:model->M M.w->t:owner(8)");
    EXPECT_EQ(finding.cut[0].label, "closure:model");
}

TEST(Cut, PrefersUserCodeToALibrary) {
    const std::string library = "@/x/site-packages/lib/a.py:1";
    const model::Finding finding =
        only("A=lib.A" + library + " B=app.B@b.py:2 A.x->B B.y->A A.w->t:owner(8) B.w->u:owner(8)");
    EXPECT_EQ(finding.cut[0].holder, "app.B");
    EXPECT_EQ(finding.cut[0].location, "b.py:2");
}

TEST(Cut, OffersThePayloadAsAnAlternative) {
    const model::Finding finding =
        only("f:function f/closure:f->f f/closure:state->d:dict d['w']->t:owner(8)");
    EXPECT_FALSE(finding.cut[0].payload);
    ASSERT_EQ(finding.alternatives.size(), 1U);
    EXPECT_TRUE(finding.alternatives[0].payload);
    EXPECT_EQ(finding.alternatives[0].label, "closure:state");
}

TEST(Cut, DoesNotOfferAPayloadThatIsReachedTwice) {
    const model::Finding finding = only("A.me->A A.x->d:dict A.y->d d['w']->t:owner(8)");
    EXPECT_TRUE(finding.alternatives.empty());
}

TEST(Cut, DoesNotOfferAPayloadThatIsReachedFurtherDownToo) {
    const model::Finding finding =
        only("A.me->A A.x->d:dict A.y->B B.d->d d['w']->t:owner(8) d['v']->u:owner(8)");
    EXPECT_TRUE(finding.alternatives.empty());
}

TEST(Cut, OffersAVariableThatSeveralFunctionsShareAsOnePayload) {
    const model::Finding finding = only(
        "A.b->B B.a->A A.f->f:function B.g->g:function f/closure:data->x:cell "
        "g/closure:data->x x/cell_contents->t:owner(8)");
    ASSERT_EQ(finding.alternatives.size(), 3U);  // B.a or A.b, and both ends of the variable
    EXPECT_EQ(finding.alternatives[1].label, "closure:data");
    EXPECT_EQ(finding.alternatives[2].label, "closure:data");
    EXPECT_TRUE(finding.alternatives[2].payload);
    EXPECT_NE(finding.alternatives[2].reason.find("share this one variable"), std::string::npos);
}

TEST(Cut, TellsHowMuchAPayloadDrops) {
    const model::Finding finding =
        only("A.me->A A.x->d:dict A.y->e:dict d['w']->t:owner(90) e['v']->u:owner(10)");
    ASSERT_EQ(finding.alternatives.size(), 1U);
    EXPECT_NE(finding.alternatives[0].reason.find("90 %"), std::string::npos);
    EXPECT_DOUBLE_EQ(finding.freed_share, 1);
}

TEST(Cut, TakesNoHelperForARecursiveFunction) {
    const model::Finding finding = only(
        "M.step->s:function=app.step s/closure:helper->h:function=app.helper h/closure:m->M "
        "M.w->t:owner(8)");
    EXPECT_EQ(finding.cut.at(0).label, "closure:m");
    EXPECT_NE(finding.pattern, "recursive-closure");
}

TEST(Cut, AdmitsWhenNoSmallSetIsEnough) {
    std::string text = "A.w->t:owner(8)";
    const std::string names = "ABCDEFGH";
    for (const char from : names) {
        for (const char to : names) {
            if (from != to) {
                text += std::string(" ") + from + "." + from + to + "->" + to;
            }
        }
    }
    const model::Finding finding = only(text);
    EXPECT_NE(finding.cut[0].reason.find(finding.cut[0].payload ? "memory" : "no small set"),
              std::string::npos);
}

// Every reference has a label of its own, so that a report's reference is one of the graph's.
struct Labelled {
    std::string text;
    test_support::RandomGraph graph;
};

Labelled random_case(std::mt19937& random) {
    Labelled result;
    const auto other = [](std::uint32_t a, std::uint32_t b) { return a != b; };
    result.graph = test_support::random_graph(random, 7, 0.22, other);
    for (std::uint32_t n = 0; n < result.graph.nodes(); ++n) {
        for (std::uint32_t e = result.graph.first[n]; e < result.graph.first[n + 1]; ++e) {
            result.text += " n" + std::to_string(n) + ".e" + std::to_string(e) + "->n" +
                           std::to_string(result.graph.targets[e]);
        }
    }
    result.text += " n0.w->t:owner(8)";
    return result;
}

// Is node 0, which holds the tensor, held by a loop, if the references in `cut` are left out?
bool held_without(const test_support::RandomGraph& graph, const std::set<std::string>& cut) {
    test_support::RandomGraph rest;
    for (std::uint32_t n = 0; n < graph.nodes(); ++n) {
        for (std::uint32_t e = graph.first[n]; e < graph.first[n + 1]; ++e) {
            if (!cut.contains(".e" + std::to_string(e))) {
                rest.targets.push_back(graph.targets[e]);
            }
        }
        rest.first.push_back(static_cast<std::uint32_t>(rest.targets.size()));
    }
    for (std::uint32_t n = 0; n < rest.nodes(); ++n) {
        const std::vector<bool> reached = test_support::reachable(rest, n);
        if (reached[n] && (n == 0 || reached[0])) {
            return true;
        }
    }
    return false;
}

TEST(Cut, EndsEveryLoopOfItsComponentOnRandomGraphs) {
    std::mt19937 random(5);
    int checked = 0;
    for (int round = 0; round < 600; ++round) {
        const Labelled random_graph = random_case(random);
        const auto findings = analyze(observe(random_graph.text));
        // With one component the cut must free the tensor; several need one cut each.
        if (findings.size() != 1 || findings[0].cut.empty() || findings[0].cut[0].payload ||
            findings[0].cut[0].reason.find("no small set") != std::string::npos) {
            continue;
        }
        ++checked;
        std::set<std::string> cut;
        for (const model::Reference& reference : findings[0].cut) {
            cut.insert(reference.label);
        }
        EXPECT_FALSE(held_without(random_graph.graph, cut)) << random_graph.text;
        for (const model::Reference& other : findings[0].alternatives) {
            if (other.label != ".w") {
                EXPECT_FALSE(held_without(random_graph.graph, {other.label})) << random_graph.text;
            }
        }
        for (const std::string& one : cut) {
            std::set<std::string> fewer = cut;
            fewer.erase(one);
            EXPECT_TRUE(held_without(random_graph.graph, fewer))
                << one << " is not needed:" << random_graph.text;
        }
    }
    EXPECT_GT(checked, 100);
}

// Memory that a class keeps in many ways. The slow way: does anything that nobody holds, as node 0,
// the class, lead to the last node without the references in `cut`? They lead to higher numbers.
bool leads_without(const test_support::RandomGraph& graph, const std::set<std::uint32_t>& cut) {
    std::vector<bool> reached(graph.nodes(), true);
    for (const std::uint32_t target : graph.targets) {
        reached[target] = false;
    }
    for (std::uint32_t n = 0; n < graph.nodes(); ++n) {
        for (std::uint32_t e = graph.first[n]; reached[n] && e < graph.first[n + 1]; ++e) {
            if (!cut.contains(e)) {
                reached[graph.targets[e]] = true;
            }
        }
    }
    return reached.back();
}

bool some_cut_of(const test_support::RandomGraph& graph,
                 std::size_t size,
                 std::set<std::uint32_t> cut = {},
                 std::uint32_t next = 0) {
    if (cut.size() == size) {
        return !leads_without(graph, cut);
    }
    for (std::uint32_t e = next; e < graph.targets.size(); ++e) {
        cut.insert(e);
        if (some_cut_of(graph, size, cut, e + 1)) {
            return true;
        }
        cut.erase(e);
    }
    return false;
}

TEST(Cut, OfMemoryThatAClassKeepsIsTheSmallestOnRandomGraphs) {
    std::mt19937 random(11);
    std::vector<int> sizes(5, 0);
    for (int round = 0; round < 300; ++round) {
        const auto graph = test_support::random_graph(
            random, 7, 0.5, [](std::uint32_t a, std::uint32_t b) { return a < b; });
        if (!test_support::reachable(graph, 0).back()) {
            continue;
        }
        std::string text = "n0:type=app.make.<locals>.Local n0/__mro__->m:tuple m[0]->n0 ";
        text += "n" + std::to_string(graph.nodes() - 1) + ":owner(8)";
        for (std::uint32_t n = 0; n < graph.nodes(); ++n) {
            for (std::uint32_t e = graph.first[n]; e < graph.first[n + 1]; ++e) {
                text += " n" + std::to_string(n) + ".e" + std::to_string(e) + "->n" +
                        std::to_string(graph.targets[e]);
            }
        }
        std::size_t size = 1;
        while (size <= 3 && !some_cut_of(graph, size)) {
            ++size;
        }
        ++sizes[size];
        std::set<std::uint32_t> cut;
        for (const model::Reference& reference : only(text).cut) {
            cut.insert(static_cast<std::uint32_t>(std::stoul(reference.label.substr(2))));
        }
        EXPECT_EQ(cut.size(), size <= 3 ? size : 0) << text;
        EXPECT_EQ(leads_without(graph, cut), size > 3) << text;
    }
    for (std::size_t size = 1; size < sizes.size(); ++size) {
        EXPECT_GT(sizes[size], 5) << size;
    }
}

}  // namespace
}  // namespace cyclewatch::analysis
