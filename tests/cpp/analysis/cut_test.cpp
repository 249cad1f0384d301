// SPDX-License-Identifier: Apache-2.0
#include "analysis/cut.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

#include "analysis/analyze.h"
#include "support/graph_text.h"
#include "support/random_graph.h"

namespace cyclewatch::analysis {
namespace {

using test_support::observe;

model::Finding only_finding(std::string_view text) {
    const auto findings = analyze(observe(text));
    EXPECT_EQ(findings.size(), 1U) << text;
    model::Finding finding = findings.empty() ? model::Finding{} : findings[0];
    for (const model::Reference& cut : finding.cut) {
        EXPECT_EQ(cut.reason.find('{'), std::string::npos) << "unfilled slot: " << cut.reason;
    }
    return finding;
}

std::set<std::string> labels_of(const std::vector<model::Reference>& references) {
    std::set<std::string> labels;
    for (const model::Reference& reference : references) {
        labels.insert(reference.label);
    }
    return labels;
}

TEST(Cut, ReportsATieIfTwoReferencesAreEquallyGood) {
    const model::Finding finding =
        only_finding("a=m.Node b=m.Node a.other->b b.other->a a.w->t:owner(8) b.w->u:owner(8)");
    EXPECT_TRUE(finding.tie);
    ASSERT_EQ(finding.cut.size(), 1U);
    ASSERT_FALSE(finding.alternatives.empty());
    EXPECT_EQ(finding.cut[0].label, ".other");
    EXPECT_EQ(finding.alternatives[0].label, ".other");
}

TEST(Cut, ReportsNoTieWithAReferenceThatIsNotEnough) {
    const model::Finding finding = only_finding(
        "N.stage->E E.core->N E.next->D D.core->N D.next->H H.core->N H.next->L L.core->N "
        "E.w->t:owner(8)");
    EXPECT_EQ(finding.cut.at(0).label, ".stage");
    EXPECT_FALSE(finding.tie);
}

TEST(Cut, ListsAllFunctionsThatShareAVariable) {
    const model::Finding finding = only_finding(
        "E.a->f:function E.b->g:function E.c->h:function f/closure:self->x:cell "
        "g/closure:self->x h/closure:self->x x/cell_contents->E E.w->t:owner(8)");
    ASSERT_EQ(finding.cut.size(), 3U);
    EXPECT_NE(finding.cut[0].reason.find("share this one variable"), std::string::npos);
}

TEST(Cut, SaysThatAllEquivalentReferencesMustBeCut) {
    const model::Finding finding = only_finding(
        "E.cbs->l:list l[0]->c=m.Saver c.parent->E c.owner->E l[1]->d=m.Saver d.parent->E "
        "d.owner->E E.w->t:owner(8)");
    EXPECT_EQ(finding.remedy, "cut Saver.owner and all like it and Saver.parent and all like it");
}

TEST(Cut, ShowsASelfReferenceOnlyIfThereIsNoOtherCycle) {
    // The cycle shown has three back references; cutting its one forward reference is enough.
    const model::Finding finding =
        only_finding("A.me->A A.w->t:owner(8) A.first->B B.one->A B.two->A B.three->A");
    EXPECT_EQ(finding.cycle.size(), 2U);
    EXPECT_EQ(labels_of(finding.cut), (std::set<std::string>{".me", ".first"}));
}

constexpr std::string_view kTrainer = "T=m.Trainer T.w->t:owner(8) T.callbacks->l:list ";

TEST(Cut, SuggestsTheBackReferencesToOneParentInAllClasses) {
    const model::Finding finding =
        only_finding(std::string(kTrainer) +
                     "a=m.A b=m.B c=m.C d=m.D l[0]->a l[1]->b l[2]->c l[3]->d "
                     "a.trainer->T b.trainer->T c.trainer->T d.trainer->T");
    ASSERT_EQ(finding.cut.size(), 4U);
    EXPECT_EQ(finding.cut[0].label, ".trainer");
    EXPECT_TRUE(finding.cut[0].reason.starts_with(
        "every cycle goes through Trainer: 4 references lead back to it"))
        << finding.cut[0].reason;
    EXPECT_EQ(finding.cost,
              "keep Trainer where only a child is kept: a child no longer does; pickling breaks");
    // The reason is reported once, and not for the alternatives.
    for (std::size_t i = 1; i < finding.cut.size(); ++i) {
        EXPECT_EQ(finding.cut[i].reason.find("lead back"), std::string::npos);
    }
    for (const model::Reference& alternative : finding.alternatives) {
        EXPECT_EQ(alternative.reason.find("lead back"), std::string::npos);
    }
    EXPECT_FALSE(finding.tie);
}

// Seven children, stored under different names, that all refer to the parent by the same name.
TEST(Cut, ListsAllChangesAndNamesTheBestInTheRemedy) {
    std::string text = "T=m.Trainer T.w->t:owner(8)";
    for (const char part : std::string("ABCDEFG")) {
        const std::string name(1, part);
        text += " " + name + "=m." + name + " T.p" + name + "->" + name + " " + name +
                (part == 'C' ? "._trainer->T" : ".trainer->T");
    }
    const model::Finding finding = only_finding(text);
    ASSERT_EQ(finding.cut.size(), 7U);
    EXPECT_EQ(finding.omitted_cuts, 0U);
    for (const model::Reference& reference : finding.cut) {
        EXPECT_EQ(reference.target, "m.Trainer");
    }
    EXPECT_NE(
        finding.remedy.find("the 7 references back to Trainer, through which every cycle goes"),
        std::string::npos);
    EXPECT_NE(finding.remedy.find("and in 4 more locations"), std::string::npos);
}

// Only one reference leads to each of the two objects.
TEST(Cut, DoesNotAdviseAWeakReferenceToAnObjectWithoutAnotherOwner) {
    const std::string pair = "A=m.A B=m.B A.other->B B.other->A B.w->t:owner(8)";
    EXPECT_NE(only_finding(pair).advice.find("It may only be weak if something else keeps"),
              std::string::npos)
        << only_finding(pair).advice;
}

TEST(Cut, NamesTheMethodThatCouldClearAllBackReferences) {
    const std::string text =
        "T.a->A T.b->B A.trainer->T B.trainer->T T.c->C C.trainer->T T.w->t:owner(8) T=m.Trainer";
    EXPECT_NE(only_finding(text + "!teardown")
                  .advice.find("clear all of them in `Trainer.teardown()`, and call it"),
              std::string::npos);
    EXPECT_EQ(only_finding(text).advice.find("add code to"), std::string::npos);
}

// Analyzes a graph in which lines of the program assign the attributes of `A` and `B`.
model::Finding finding_with_stores(const std::string& text) {
    model::Observation observation = observe(text);
    model::ReferenceGraph& graph = observation.graph;
    for (const char* const attribute : {"_trainer", "trainer", "parent"}) {
        for (const char* const holder : {"m.A", "m.B"}) {
            graph.attribute_sites.push_back({.holder = graph.strings.intern(holder),
                                             .attribute = graph.strings.intern(attribute),
                                             .location = {graph.strings.intern("/x/a.py"), 2}});
        }
    }
    return analyze(observation).at(0);
}

TEST(Cut, ShowsTheCodeOfAWeakReference) {
    const auto advice = [](const char* text) { return finding_with_stores(text).advice; };
    const std::string tree = "T=m.Trainer A=m.A@/x/a.py:1 T.loop->A A._trainer->T T.w->t:owner(8)";
    const std::string trainer = advice(tree.c_str());
    // The value may be stored in `__dict__`, where the setter of a property would not be called.
    const std::string without_store = only_finding(tree).advice;
    EXPECT_EQ(without_store.find("property"), std::string::npos) << without_store;
    EXPECT_NE(without_store.find("In code: store `weakref.ref(value)` where the value of "
                                 "`_trainer` is stored, and call it where `_trainer` is used."),
              std::string::npos)
        << without_store;
    EXPECT_NE(
        trainer.find("In code: a property `_trainer` that returns `self._trainer_ref and "
                     "self._trainer_ref()`, with the setter `self._trainer_ref = None if "
                     "value is None else weakref.ref(value)`; keep the line that sets `_trainer`."),
        std::string::npos)
        << trainer;
    const std::string slot =
        advice("T=m.Tree A=m.A@/x/a.py:1 T.kid->A A/slot:parent->T T.w->t:owner(8)");
    EXPECT_NE(slot.find("`_parent_ref` in `__slots__` instead of `parent`"), std::string::npos)
        << slot;
    const std::string method =
        advice("E=m.Engine E.run->b:method=m.Engine.go b/__self__->E E.w->t:owner(8)");
    EXPECT_NE(method.find("`lambda *args, **kwargs: (m := ref()) and m(*args, **kwargs)`, with "
                          "`ref = weakref.WeakMethod(self.go)`; it returns None once"),
              std::string::npos)
        << method;
    // The location of the class is unknown, for example because it is not written in Python.
    const std::string native =
        only_finding("T=m.Trainer A=m.A T.loop->A A._trainer->T T.w->t:owner(8)").advice;
    EXPECT_EQ(native.find("In code"), std::string::npos) << native;
}

// The text describes the change for every kind of reference; the code shows only the first kind.
TEST(Cut, ShowsHowToChangeEachKindOfBackReference) {
    const model::Finding finding = finding_with_stores(
        "T=m.Trainer T.w->t:owner(8) A=m.A@/x/a.py:1 B=m.B@/x/b.py:1 T.a->A T.b->B T.c->C T.d->D "
        "A.trainer->T B/slot:trainer->T C=m.C@/x/c.py:1 C.trainer->T D=m.D D.run->b:method=m.T.go "
        "b/__self__->T D.trainer->T");
    EXPECT_NE(finding.advice.find("weakref.ref to Trainer. In code, for the first: a property "
                                  "`trainer` that returns"),
              std::string::npos)
        << finding.advice;
    EXPECT_NE(
        finding.advice.find("For a slot, replace the name in `__slots__`. Instead of a bound "
                            "method, store `weak(self.go)`, with `def weak(method): ref = "
                            "weakref.WeakMethod(method); return lambda *args, **kwargs: (m := "
                            "ref()) and m(*args, **kwargs)`."),
        std::string::npos)
        << finding.advice;
}

TEST(Cut, ShowsHowToReplaceAPartial) {
    const model::Finding finding =
        only_finding("N=m.Net@/x/a.py:1 N.forward->p:partial p/args[0]->N N.w->t:owner(8)");
    EXPECT_EQ(finding.cut.at(0).label, "args[0]");
    EXPECT_NE(finding.advice.find("`lambda *args, **kwargs: function(ref(), *args, **kwargs)`"),
              std::string::npos)
        << finding.advice;
}

// A set of references with different patterns needs advice on each of them.
TEST(Cut, AdvisesOnEachPatternOfASet) {
    const model::Finding finding = only_finding(
        "N=m.Net@/x/a.py:1 N.old->b:method=m.Net.run b/__self__->N N.forward->p:partial "
        "p/args[0]->N N.w->t:owner(8)");
    ASSERT_EQ(finding.cut.size(), 2U);
    EXPECT_NE(finding.advice.find("WeakMethod(self.run)"), std::string::npos) << finding.advice;
    EXPECT_NE(finding.advice.find("function(ref(), *args, **kwargs)"), std::string::npos)
        << finding.advice;
}

// The list belongs to the caller; a hook of the tensor captures it.
TEST(Cut, DoesNotCallACapturedListTheObjectsOwn) {
    const model::Finding finding = only_finding(
        "T=torch.Tensor T.hooks->d:dict d['1']->f:function=m.hook f/closure:grads->l:list l[0]->T "
        "T.w->t:owner(8)");
    EXPECT_EQ(finding.cut.at(0).label, "closure:grads");
    EXPECT_NE(finding.pattern, "registry-holds-owner");
}

TEST(Cut, ShowsNoLineForAnItemOfACapturedContainer) {
    const model::Finding finding = only_finding(
        "N=m.Node N.run->f:function=m.make.<locals>.run@/x/a.py:25 f/closure:cache->d:dict "
        "d['x']->N N.w->t:owner(8)");
    for (const model::Reference& other : finding.alternatives) {
        if (other.label == "['x']") {
            EXPECT_EQ(other.location, "");
        }
    }
    EXPECT_EQ(finding.cut.at(0).location, "/x/a.py:25");
}

// The program can change only what its function captures.
TEST(Cut, DoesNotSuggestWhatALibraryCapturesForTheProgramInAHiddenCycle) {
    const auto findings = analyze(
        observe("N=torch.MulBackward0 N.hook->f:function=lib.unpack@/x/site-packages/lib/c.py:3 "
                "f/closure:self->F=lib.Frame F.fn->g:function=m.run@/x/own.py:5 "
                "g/closure:data->T=torch.Tensor T.grad_fn->N T.w->t:owner(8)"),
        /*collectable=*/false);
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].cut.at(0).label, "closure:data");
}

// The line that defines a method does not create the bound method.
TEST(Cut, ShowsNoLineForABoundMethodOfUnknownOrigin) {
    const model::Finding finding = only_finding(
        "L=m.Linear L.call->b:method=m.Linear.forward@/x/site-packages/m.py b/__self__->L "
        "L.w->t:owner(8)");
    EXPECT_EQ(finding.cut.at(0).label, "__self__");
    EXPECT_EQ(finding.cut.at(0).location, "");
    EXPECT_EQ(finding.advice.find("library code"), std::string::npos) << finding.advice;
}

// As after `module.forward = module._old_forward`.
TEST(Cut, DeletesAnAttributeThatStoresTheMethodOfItsClass) {
    const model::Finding finding = only_finding(
        "L=m.Linear L.forward->b:method=m.Linear.forward@/x/site-packages/m.py b/__self__->L "
        "L.w->t:owner(8)");
    EXPECT_EQ(finding.cut.at(0).label, ".forward");
    EXPECT_EQ(finding.cut.at(0).location, "");
    EXPECT_NE(finding.advice.find("`del instance.forward`"), std::string::npos) << finding.advice;
    EXPECT_EQ(finding.advice.find("library code"), std::string::npos) << finding.advice;
    const model::Finding patched = only_finding(
        "L=m.Linear L.forward->b:method=m.wrap.<locals>.forward b/__self__->L L.w->t:owner(8)");
    EXPECT_EQ(patched.advice.find("`del instance"), std::string::npos) << patched.advice;
}

// The recorder registered two of its methods on each layer. It needs its model.
TEST(Cut, CutsHooksInsteadOfAnAttributeOfTheObjectThatRegisteredThem) {
    const model::Finding finding = only_finding(
        "R=m.Recorder R.model->M=m.Net M/_modules->c:nn_children c.a->A=m.Layer c.b->B=m.Layer "
        "A/_forward_hooks->g:nn_hooks B/_forward_hooks->h:nn_hooks "
        "g/hook:forward->s:method=m.Recorder.save g/hook:forward->r:method=m.Recorder.grad "
        "h/hook:forward->u:method=m.Recorder.save h/hook:forward->v:method=m.Recorder.grad "
        "s/__self__->R r/__self__->R u/__self__->R v/__self__->R A.w->t:owner(8)");
    EXPECT_EQ(labels_of(finding.cut), std::set<std::string>{"__self__"});
    EXPECT_EQ(finding.cut.size(), 2U);
    EXPECT_NE(finding.advice.find("handle.remove()"), std::string::npos) << finding.advice;
}

TEST(Cut, AdvisesToRemoveAHookThatCapturesItsModule) {
    const model::Finding finding = only_finding(
        "M=m.Net M/_forward_hooks->h:nn_hooks h/hook:forward->f:function=m.f f/closure:self->M "
        "M.w->t:owner(8)");
    EXPECT_EQ(finding.cut.at(0).label, "closure:self");
    EXPECT_NE(finding.advice.find("`handle.remove()`"), std::string::npos) << finding.advice;
}

TEST(Cut, RemovesAHookThatIsAnObject) {
    const model::Finding finding = only_finding(
        "M=m.Net M/_forward_hooks->h:nn_hooks h/hook:forward->H=m.Hook H.net->M M.w->t:owner(8)");
    EXPECT_EQ(finding.pattern, "registered-hook");
    EXPECT_NE(finding.advice.find("`handle.remove()`"), std::string::npos) << finding.advice;
}

// The context is created for the model and stored in each layer. Nothing but the layers refers to
// it, so it would be freed too early if they referred to it weakly.
TEST(Cut, TakesNoObjectForTheParentThatOnlyItsChildrenHold) {
    model::Observation observation = observe(
        "R=m.Net R/_modules->c:nn_children c.a->A=m.Layer c.b->B=m.Layer c.d->D=m.Layer "
        "C=m.Context C.model->R A.context->C B.context->C D.context->C R.context->C "
        "R.w->t:owner(8)");
    model::ReferenceGraph& graph = observation.graph;
    for (const auto& [holder, attribute] :
         {std::pair("m.Net", "context"), {"m.Layer", "context"}, {"m.Context", "model"}}) {
        graph.attribute_sites.push_back({.holder = graph.strings.intern(holder),
                                         .attribute = graph.strings.intern(attribute),
                                         .value = model::ValueOrigin::taken});
    }
    const model::Finding finding = analyze(observation).at(0);
    EXPECT_EQ(labels_of(finding.cut), std::set<std::string>{".model"}) << finding.remedy;
}

// The orchestrator creates its helpers, and the batch's information alone keeps the orchestrator.
TEST(Cut, TakesNoObjectForTheParentThatOnlyItsChildrenAndTheirHelpersHold) {
    model::Observation observation = observe(
        "S=m.Batch S.info->I=m.Info I.penalties->O=m.Orchestrator O.batch->S O.parts->l:list "
        "l[0]->A=m.Helper l[1]->B=m.Helper A.orchestrator->O B.orchestrator->O S.w->t:owner(8) "
        "A.sum->u:owner(8)");
    model::ReferenceGraph& graph = observation.graph;
    for (const auto& [holder, attribute] : {std::pair("m.Info", "penalties"),
                                            {"m.Helper", "orchestrator"},
                                            {"m.Orchestrator", "batch"}}) {
        graph.attribute_sites.push_back({.holder = graph.strings.intern(holder),
                                         .attribute = graph.strings.intern(attribute),
                                         .value = model::ValueOrigin::taken});
    }
    const model::Finding finding = analyze(observation).at(0);
    EXPECT_EQ(labels_of(finding.cut), (std::set<std::string>{".batch", ".orchestrator"}))
        << finding.remedy;
}

// A mesh creates its queries and sets its visuals; visuals and mesh received each other.
TEST(Cut, TakesTheOneOfAPairThatCreatesHelpersForTheParent) {
    model::Observation observation = observe(
        "M=m.Mesh M.visual->V=m.Visuals V.mesh->M M.query->Q=m.Query Q._mesh->M M.ray->R=m.Ray "
        "R.mesh->M R.cache->C=m.Cache C.id->h:method=m.Mesh.identity h/__self__->M "
        "M.w->t:owner(8)");
    model::ReferenceGraph& graph = observation.graph;
    for (const auto& [holder, attribute] : {std::pair("m.Mesh", "visual"),
                                            {"m.Visuals", "mesh"},
                                            {"m.Query", "_mesh"},
                                            {"m.Ray", "mesh"},
                                            {"m.Cache", "id"}}) {
        graph.attribute_sites.push_back({.holder = graph.strings.intern(holder),
                                         .attribute = graph.strings.intern(attribute),
                                         .value = model::ValueOrigin::taken});
    }
    const model::Finding finding = analyze(observation).at(0);
    EXPECT_EQ(labels_of(finding.cut), (std::set<std::string>{".mesh", "._mesh", "__self__"}));
}

// `frame.f_locals` of a function's own frame contains a copy of `frame`.
TEST(Cut, CountsCopiesInLocalsToTheVariableThatStoresTheFrame) {
    const model::Finding finding = only_finding(
        "f:frame=m.f@/app/a.py:7 f/local:frame->f f/f_locals->d:dict d['frame']->f "
        "f/local:names->d d['data']->t:owner(8) f/local:data->t");
    EXPECT_EQ(labels_of(finding.cut), (std::set<std::string>{"local:frame"}));
    EXPECT_EQ(finding.pattern, "frame-in-own-local");
    EXPECT_EQ(finding.freed_share, 1);
    EXPECT_EQ(finding.advice.find("finally"), std::string::npos) << "del leaves the copy";
}

// The variable was assigned again, so the copy has another name.
TEST(Cut, CountsAnOlderCopyInLocalsToTheVariableThatStoresTheFrame) {
    const model::Finding finding = only_finding(
        "f:frame=m.f@/app/a.py:7 f/local:me->f f/f_locals->d:dict d['frame']->f "
        "f/local:data->t:owner(8)");
    EXPECT_EQ(labels_of(finding.cut), (std::set<std::string>{"local:me"}));
    EXPECT_EQ(finding.freed_share, 1);
}

// Two attributes store frames; ten variables and namespace entries lead back to the hub.
TEST(Cut, CutsStoredFramesInsteadOfTheVariablesThatLeadBack) {
    std::string text =
        "I=m.Info I._frame->f:frame=m.run T=m.Tracer T.info->I T.frame->g:frame=m.trace "
        "f/local:tracer->T g/local:tracer->T f/local:t->t:owner(8) g/local:u->t I.tracer->T";
    for (const char variable : std::string("abcdef")) {
        const std::string name(1, variable);
        text += " f/local:" + name + "->O" + name + " O" + name + ".tracer->T";
    }
    const model::Finding finding = only_finding(text);
    EXPECT_EQ(labels_of(finding.cut), (std::set<std::string>{"._frame", ".frame"}));
    EXPECT_EQ(finding.pattern, "frame-stored");
}

TEST(Cut, DoesNotAdviseWeakReferencesToAParentThatDoesNotSupportThem) {
    model::Observation observation =
        observe("T=m.Trainer T.a->A T.b->B A.trainer->T B.trainer->T T.w->t:owner(8)");
    for (model::Node& node : observation.graph.nodes) {
        node.supports_weakref = false;
    }
    const model::Finding finding = analyze(observation).at(0);
    EXPECT_EQ(finding.cut.size(), 2U);
    EXPECT_EQ(finding.advice, "Set each of these references to None when it is no longer needed.");
    EXPECT_EQ(finding.cost.find("weak"), std::string::npos) << finding.cost;
}

// Two triangles that share an edge: any of their half-edges may be the parent. The order does not
// depend on the order of the objects or on the program's directory.
TEST(Cut, SortsEquallyGoodReferencesByName) {
    const std::string references =
        "a/slot:next->b b/slot:next->c c/slot:next->a d/slot:next->e e/slot:next->f "
        "f/slot:next->d b/slot:twin->d d/slot:twin->b b/slot:origin->o:tuple o[1]->t:owner(8)";
    for (std::uint64_t shuffle = 0; shuffle < 40; ++shuffle) {
        std::string nodes;
        for (const char half : std::string_view("abcdef")) {
            nodes += std::string(1, half) + "=m.Half@/tmp/" + std::to_string(shuffle) + "/m.py:3 ";
        }
        const auto findings = analyze(observe(nodes + references, shuffle));
        ASSERT_EQ(findings.size(), 1U);
        EXPECT_EQ(labels_of({findings[0].cut.front()}), std::set<std::string>{"slot:next"});
    }
}

// The kind of back reference that occurs most often comes first.
TEST(Cut, SortsBackReferencesByParentAndNumber) {
    const model::Finding finding = only_finding(
        "T=m.Trainer T.w->t:owner(8) T.callbacks->l:list l[0]->a=m.A l[1]->b=m.B l[2]->c=m.B "
        "T.d->d=m.D a.trainer->T b.trainer->T c.trainer->T d.trainer->T");
    ASSERT_EQ(finding.cut.size(), 3U);
    EXPECT_EQ(finding.cut[0].holder, "m.B");
    EXPECT_EQ(finding.cut[0].references, 2U);
    // The headline shows a cycle through that kind, even though the cycle through D is shorter.
    EXPECT_EQ(finding.title, "Trainer.callbacks -> [1] -> B.trainer -> Trainer");
    EXPECT_EQ(finding.cycle.size(), 2U);
}

// A ring with a sentinel. The list exists to store its values, so they must not be cut.
TEST(Cut, SuggestsTheLinksOfALinkedListInsteadOfItsData) {
    const model::Finding finding = only_finding(
        "a=m.Link b=m.Link c=m.Link a.next->b b.next->c c.next->a a.last->c b.last->a "
        "c.last->b b.value->t:owner(8) c.value->t");
    EXPECT_EQ(labels_of(finding.cut), (std::set<std::string>{".next", ".last"}));
    EXPECT_TRUE(finding.alternatives.empty());
    EXPECT_TRUE(finding.advice.starts_with("Set the links of all Link objects to None"))
        << finding.advice;
}

// Each accessor refers to the component for which it was created.
TEST(Cut, ListsTheClassesThatReferencesLeadTo) {
    const model::Finding finding = only_finding(
        "T=m.Net T.w->t:owner(8) T.p->p=m.Buses T.q->q=m.Lines p.n->T q.n->T p.array->x=m.View "
        "q.array->y=m.View x.component->p y.component->q p.w->u:owner(8) "
        "q.w->v:owner(8)");
    std::set<std::string> targets;
    for (const model::Reference& reference : finding.cut) {
        EXPECT_EQ(reference.references, 1U);
        if (reference.label == ".component") {
            targets.insert(reference.target);
        }
    }
    EXPECT_EQ(targets, (std::set<std::string>{"m.Buses", "m.Lines"}));
}

// A data frame whose column contains objects of the program that refer to it.
TEST(Cut, PrefersTheProgramsReferenceToThatOfALibrary) {
    const auto cut_of = [](const std::string& table_path) {
        const model::Finding finding = only_finding(
            "F=m.Frame@" + table_path +
            ":1 M=m.Manager@/x/site-packages/lib/m.py:1 S=m.Sample@/x/own.py:3 S.table->F "
            "F.manager->M M.blocks->l:list l[0]->S S.image->t:owner(8)");
        return finding.cut.at(0).label;
    };
    EXPECT_EQ(cut_of("/x/site-packages/lib/f.py"), ".table");
    EXPECT_EQ(cut_of("/x/frames.py"), ".manager") << "the reference to the object with the list";
}

TEST(Cut, SaysWhatToDoIfTheLibraryCannotBeChanged) {
    const std::string text =
        "T=m.Trainer@/x/site-packages/lib/t.py:1 L=m.Loop@/x/site-packages/lib/l.py:2 T.loop->L "
        "L.parent->T T.w->t:owner(8) ";
    EXPECT_NE(only_finding(text).advice.find("All of this is library code: report it to the "
                                             "maintainers. Until it is fixed, "
                                             "call `gc.collect()` after use."),
              std::string::npos)
        << only_finding(text).advice;
    const std::string partly_own = text + "O=m.Own@/x/own.py:3 T.own->O O.parent->T";
    EXPECT_EQ(only_finding(partly_own).advice.find("library"), std::string::npos)
        << only_finding(partly_own).advice;
    const std::string own =
        "T=m.Trainer@/x/t.py:1 L=m.Loop@/x/l.py:2 T.loop->L L.parent->T T.w->t:owner(8)";
    EXPECT_EQ(only_finding(own).advice.find("library"), std::string::npos);
}

// The two neighbors of an object do not show which end of the list is the first.
TEST(Cut, FindsTheStartOfALinkedListOfChildren) {
    std::string text = "R=m.Root R.kids->l:list";
    for (int i = 0; i < 3000; ++i) {
        const std::string kid = "k" + std::to_string(i);
        const std::string next = "k" + std::to_string(i + 1);
        text += " " + kid + (i % 2 == 0 ? "=m.Even" : "=m.Odd");
        text += " l[" + std::to_string(i) + "]->" + kid + " " + kid + ".root->R";
        text += i % 100 == 0 ? " " + kid + ".data->t" + std::to_string(i) + ":owner(8)" : "";
        text += i < 2999 ? " " + kid + ".next->" + next + " " + next + ".prev->" + kid : "";
    }
    EXPECT_EQ(labels_of(only_finding(text).cut), (std::set<std::string>{".root", ".prev"}));
}

TEST(Cut, NeverCutsBothEndsOfAPair) {
    const model::Finding finding = only_finding(
        "a=m.Node b=m.Node c=m.Node e=m.Edge f=m.Edge e.head->a e.tail->b f.head->b f.tail->c "
        "a.incident->l:list l[0]->e b.incident->k:list k[0]->e k[1]->f c.incident->j:list "
        "j[0]->f f.w->t:owner(8)");
    std::set<std::string> holders;
    for (const model::Reference& reference : finding.cut) {
        holders.insert(reference.holder);
    }
    EXPECT_EQ(holders.size(), 1U);
}

TEST(Cut, NeverDropsAChildOfAModule) {
    const model::Finding finding = only_finding(
        "M=app.Net H=lib.Hook M.hook->H H.module->M M/_parameters->p:nn_children "
        "p.weight->t:owner(90) M.cache->u:owner(10)");
    for (const model::Reference& other : finding.alternatives) {
        EXPECT_NE(other.label, ".weight");
    }
}

TEST(Cut, PrefersASingleReferenceIfASetIsNotClearer) {
    const model::Finding finding = only_finding(
        "T=m.Trainer T.w->t:owner(8) T.core->c c=m.Core a=m.A b=m.B c.a->a c.b->b "
        "a.x->T b.y->T");
    ASSERT_EQ(finding.cut.size(), 1U);
    EXPECT_EQ(finding.cut[0].label, ".core");
}

TEST(Cut, NeverCutsTheTupleOfAnExceptionGroup) {
    const model::Finding finding = only_finding(
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

TEST(Cut, DoesNotMentionFramesIfAnExceptionLeadsBackThroughItsArguments) {
    const model::Finding finding = only_finding(
        "T=m.Trainer T.w->t:owner(8) T.failed->l:list l[0]->e:exception=m.StepError "
        "e/args->a:tuple a[1]->T");
    EXPECT_NE(finding.pattern, "exception-stored");
    EXPECT_EQ(finding.cut.size(), 1U);
    for (const model::Reference& other : finding.alternatives) {
        EXPECT_EQ(other.reason.find("frames"), std::string::npos) << other.label;
    }
}

TEST(Cut, DoesNotOfferAChildOfAModuleAsAnAlternative) {
    const model::Finding finding = only_finding(
        "M=m.Net M/__dict__->d:instance_dict d._modules->c:nn_children c.layer->L=m.Layer "
        "L._root->M L.w->t:owner(8)");
    EXPECT_EQ(finding.cut.at(0).label, "._root");
    for (const model::Reference& other : finding.alternatives) {
        EXPECT_NE(other.label, ".layer");
    }
}

TEST(Cut, DoesNotSayThatEveryCycleGoesThroughAParentOfParents) {
    const model::Finding finding = only_finding(
        "D=m.Doc P=m.Page W=m.Word D.pages->l:list l[0]->P P.words->k:list k[0]->W W.page->P "
        "P.doc->D W.w->t:owner(8)");
    EXPECT_EQ(labels_of(finding.cut), (std::set<std::string>{".page", ".doc"}));
    EXPECT_EQ(finding.cut.at(0).reason.find("every cycle goes through"), std::string::npos);
}

// A weak reference to a dict raises TypeError.
TEST(Cut, AdvisesNoWeakReferenceToADict) {
    const model::Finding finding = only_finding(
        "d:dict d['children']->l:list l[0]->e:dict l[1]->f:dict e['parent']->d f['parent']->d "
        "d['pixels']->t:owner(8)");
    EXPECT_EQ(finding.cut.at(0).label, "['parent']");
    EXPECT_NE(finding.advice.find("weak references to dict do not work"), std::string::npos);
    EXPECT_EQ(finding.cut.at(0).reason.find("make them weak"), std::string::npos);
}

TEST(Cut, DoesNotCallATupleARegistry) {
    const model::Finding finding =
        only_finding("T=m.Step T.w->t:owner(8) T.last_args->a:tuple a[0]->T");
    EXPECT_EQ(finding.cut.at(0).label, "[0]");
    EXPECT_NE(finding.cut.at(0).reason.find("stores a tuple, for example of arguments"),
              std::string::npos);
    EXPECT_EQ(finding.advice.find("WeakSet"), std::string::npos);
}

TEST(Cut, AdvisesToLookUpABuiltInMethod) {
    const model::Finding finding =
        only_finding("F=m.Feeder F.w->t:owner(8) F.step->b=method-wrapper b/__self__->F");
    EXPECT_EQ(finding.cut.at(0).label, "__self__");
    EXPECT_EQ(finding.advice, "Look the method up on each call.");
}

TEST(Cut, NamesTheAttributeThatKeepsAPartial) {
    const model::Finding finding =
        only_finding("F=m.Feeder@/app/a.py:3 F.w->t:owner(8) F.collate->p:partial p/args[0]->F");
    EXPECT_EQ(finding.cut.at(0).location, "") << "any code may have stored it";
    EXPECT_EQ(finding.remedy, "cut Feeder.collate.args[0]");
}

TEST(Cut, NamesTheListOfAnItem) {
    const model::Finding finding = only_finding(
        "f:frame=m.compare@/app/a.py:7 f/local:errors->l:list l[0]->e:exception=ValueError "
        "e/__traceback__->b:traceback b/tb_frame->f f/local:actual->t:owner(8)");
    ASSERT_EQ(finding.cut.size(), 1U);
    EXPECT_EQ(finding.cut[0].holder, "list");
    EXPECT_EQ(finding.cut[0].location, "/app/a.py:7");
    EXPECT_EQ(finding.remedy, "cut compare.local:errors[0] (a.py:7)");
}

TEST(Cut, DoesNotOfferAPayloadThatIsReachedTwice) {
    const model::Finding finding = only_finding("A.me->A A.x->d:dict A.y->d d['w']->t:owner(8)");
    EXPECT_TRUE(finding.alternatives.empty());
}

TEST(Cut, DoesNotOfferAPayloadThatIsReachedFurtherDownToo) {
    const model::Finding finding =
        only_finding("A.me->A A.x->d:dict A.y->B B.d->d d['w']->t:owner(8) d['v']->u:owner(8)");
    EXPECT_TRUE(finding.alternatives.empty());
}

TEST(Cut, ReportsTheCostOfEachAlternative) {
    // Does not offer to cut the data of an object, or an object that it needs.
    EXPECT_TRUE(only_finding("A.cbs->l:list l[0]->f:function=m.f f/closure:self->A A.w->t:owner(8)")
                    .alternatives.empty());
    const model::Finding finding =
        only_finding("A.run->m:method=m.A.run m/__self__->A A.w->t:owner(8)");
    ASSERT_EQ(finding.alternatives.size(), 1U);
    EXPECT_EQ(finding.alternatives[0].reason, "the method must be looked up at each call");
}

TEST(Cut, ReportsTheShareOfAPayload) {
    const model::Finding finding = only_finding(
        "f:function=m.f f/closure:f->f f/closure:d->d:dict f/closure:e->e:dict "
        "d['w']->t:owner(90) e['v']->u:owner(10)");
    ASSERT_EQ(finding.alternatives.size(), 1U);
    EXPECT_NE(finding.alternatives[0].reason.find("keeps the cycle"), std::string::npos);
    EXPECT_NE(finding.alternatives[0].reason.find("90 %"), std::string::npos);
    EXPECT_DOUBLE_EQ(finding.freed_share, 1);
}

// The output and the module each close a cycle through the context. Neither is the parent of the
// other: without `.result`, nothing that the module holds keeps the output alive.
TEST(Cut, CutsAllCyclesThroughOneContext) {
    const auto findings = analyze(
        observe("T/grad_fn->C C.result->T C.module->M M.last->L L/grad_fn->C T.w->u:owner(8) "
                "M.w->t:owner(8)"),
        false);
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_TRUE(labels_of(findings[0].cut).contains(".result"));
    EXPECT_EQ(findings[0].cut.size(), 2U);
    EXPECT_EQ(findings[0].freed_share, 1);
    EXPECT_NE(findings[0].cut[1].reason.find("all 2 references listed"), std::string::npos);
}

TEST(Cut, ReportsIfNoSmallSetIsEnough) {
    std::string text;
    const std::string names = "ABCDEFGH";
    for (const char from : names) {
        text += std::string(" ") + from + ".w->t" + from + ":owner(8)";
        for (const char to : names) {
            if (from != to) {
                text += std::string(" ") + from + "." + from + to + "->" + to;
            }
        }
    }
    const model::Finding finding = only_finding(text);
    EXPECT_NE(finding.cut[0].reason.find(finding.cut[0].payload ? "memory" : "no small set"),
              std::string::npos);
}

using test_support::Arc;
using test_support::RandomGraph;
using test_support::Vertex;

Vertex last_of(const RandomGraph& graph) {
    return static_cast<Vertex>(graph.size() - 1);
}

// True if vertex 0, a class, leads to the last vertex without the references in `cut`. References
// lead to higher numbers.
bool leads_without(const RandomGraph& graph, const std::set<Arc>& cut) {
    IndexSet<Vertex> reached;
    reached.insert(Vertex{0});
    for (const Vertex n : graph.all_nodes()) {
        for (const Arc e : graph.edges_of(n)) {
            if (reached.contains(n) && !cut.contains(e)) {
                reached.insert(graph.targets[e]);
            }
        }
    }
    return reached.contains(last_of(graph));
}

TEST(Cut, FreesTheMemoryOfAClassOnRandomGraphs) {
    std::mt19937 random(11);
    int named = 0;
    for (int round = 0; round < 300; ++round) {
        const auto graph =
            test_support::random_graph(random, 7, 0.5, [](Vertex a, Vertex b) { return a < b; });
        if (!test_support::reachable(graph, Vertex{0}).contains(last_of(graph))) {
            continue;
        }
        std::string text = "n0:type=app.make.<locals>.Local n0/__mro__->m:tuple m[0]->n0 ";
        text += "n" + std::to_string(index_of(last_of(graph))) + ":owner(8)";
        for (const Vertex n : graph.all_nodes()) {
            for (const Arc e : graph.edges_of(n)) {
                text += " n" + std::to_string(index_of(n)) + ".e" + std::to_string(index_of(e)) +
                        "->n" + std::to_string(index_of(graph.targets[e]));
            }
        }
        std::set<Arc> cut;
        for (const model::Reference& reference : only_finding(text).cut) {
            cut.insert(static_cast<Arc>(std::stoul(reference.label.substr(2))));
        }
        EXPECT_LE(cut.size(), 3U) << text;
        const bool few = std::ranges::count(graph.targets, last_of(graph)) <= 3;
        EXPECT_TRUE(!cut.empty() || !few) << text;
        if (!cut.empty()) {
            ++named;
            EXPECT_FALSE(leads_without(graph, cut)) << text;
        }
    }
    EXPECT_GT(named, 100);
}

}  // namespace
}  // namespace cyclewatch::analysis
