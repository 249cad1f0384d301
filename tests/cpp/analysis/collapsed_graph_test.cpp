// SPDX-License-Identifier: Apache-2.0
#include "analysis/collapsed_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/names.h"
#include "support/graph_text.h"

namespace cyclewatch::analysis {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAreArray;

CollapsedGraph collapsed(const model::Observation& observation) {
    IndexSet<model::NodeId> keep;
    for (const model::DeviceOwner& owner : observation.owners) {
        keep.insert(owner.node);
    }
    return collapse(observation.graph, keep);
}

// The collapsed references as text: "m.A .b m.B".
std::vector<std::string> references_of(std::string_view text) {
    const model::Observation observation = test_support::observe(text);
    const CollapsedGraph graph = collapsed(observation);
    std::vector<std::string> references;
    for (const EdgeIx e : graph.all_edges()) {
        references.push_back(full_name(graph, graph.edges[e].holder) + " " + label_of(graph, e) +
                             " " + full_name(graph, graph.targets[e]));
    }
    return references;
}

struct Case {
    const char* name;
    const char* graph;
    std::vector<std::string> references;
};

std::ostream& operator<<(std::ostream& out, const Case& one) {
    return out << one.name;
}

const Case kCases[] = {
    {"InstanceAndItsDict",
     "A/__dict__->d:instance_dict d.b->B d.c->C",
     {"m.A .b m.B", "m.A .c m.C"}},
    {"FunctionAndItsClosure",
     "f:function f/__closure__->c:closure c/closure:self->x:cell x/cell_contents->A",
     {"function m.f closure:self m.A"}},
    {"VariableOfAFrameInACell",
     "f:frame f/local:err->x:cell x/cell_contents->e:exception",
     {"frame of m.f local:err m.e"}},
    {"ModuleAndItsHooks",
     "M/__dict__->d:instance_dict d._forward_hooks->h:nn_hooks h/forward_hook->f:function",
     {"m.M forward_hook function m.f"}},
    {"ModuleAndItsParameters",
     "M/__dict__->d:instance_dict d._parameters->p:nn_children p.weight->w",
     {"m.M .weight m.w"}},
    {"PartialAndItsArguments",
     "p:partial p/args->a:partial_args a/args[0]->A p/keywords->k:partial_keywords "
     "k/keywords['x']->B",
     {"functools.partial args[0] m.A", "functools.partial keywords['x'] m.B"}},
    {"CellOfTwoFunctions",
     "f:function g:function f/closure:x->c:cell g/closure:x->c c/cell_contents->A",
     {"function m.f closure:x m.A", "function m.g closure:x m.A"}},
    {"UnreferencedPartIsKept", "d:instance_dict d.a->A A.d->B", {"dict .a m.A", "m.A .d m.B"}},
    {"CycleOfCellsIsKept",
     "f:function f/closure:x->a:cell a/cell_contents->b:cell b/cell_contents->a",
     {"function m.f closure:x cell", "cell cell_contents cell", "cell cell_contents cell"}},
    {"OwnerIsKept", "A/x->d:instance_dict:owner(8) d.b->B", {"m.A x dict", "dict .b m.B"}},
    {"SharedNamespaceIsKept",
     "M:module M/__dict__->d:module_dict d.f->f:function f/__globals__->d",
     {"module m.M __dict__ dict", "dict .f function m.f", "function m.f __globals__ dict"}},
};

class Collapse : public ::testing::TestWithParam<Case> {};

TEST_P(Collapse, GivesReferences) {
    EXPECT_THAT(references_of(GetParam().graph), UnorderedElementsAreArray(GetParam().references));
}

INSTANTIATE_TEST_SUITE_P(Cases, Collapse, ::testing::ValuesIn(kCases), [](const auto& info) {
    return std::string(info.param.name);
});

TEST(CollapsedGraph, HasTheRawPath) {
    const model::Observation observation = test_support::observe(
        "f:function f/__closure__->c:closure c/closure:self->x:cell x/cell_contents->A");
    EXPECT_THAT(reference_of(collapsed(observation), EdgeIx{0}).raw_path,
                ElementsAre("__closure__", "closure:self", "cell_contents"));
}

TEST(CollapsedGraph, DoesNotGrowQuadratically) {
    std::string text = "d:instance_dict";
    for (int i = 0; i < 100; ++i) {
        text += " A" + std::to_string(i) + "/__dict__->d d.n" + std::to_string(i) + "->B";
    }
    EXPECT_EQ(references_of(text).size(), 200U);
}

class NamesTest : public ::testing::Test {
  protected:
    void read(std::string_view text) {
        observation_ = test_support::observe(text);
        graph_ = collapse(observation_.graph, {});
    }
    // The reference with that label.
    EdgeIx edge(std::string_view label) const {
        for (const EdgeIx e : graph_.all_edges()) {
            if (label_of(graph_, e) == label) {
                return e;
            }
        }
        ADD_FAILURE() << "no reference " << label;
        return kNone;
    }
    NodeIx holder(std::string_view label) const { return graph_.edges[edge(label)].holder; }

    model::Observation observation_;
    CollapsedGraph graph_;
};

TEST_F(NamesTest, LocatesAStoredCallableAtItsDefinition) {
    read(
        "A@class.py:1 A.step->f f:function@helper.py:9 f/closure:model->A A.part->B B@part.py:3 "
        "B.whole->A A.later->p p:partial@helper.py:12 p/args[0]->A");
    EXPECT_EQ(location_of(graph_, edge(".step")), "helper.py:9");
    EXPECT_EQ(location_of(graph_, edge(".later")), "helper.py:12");
    EXPECT_EQ(location_of(graph_, edge("args[0]")), "helper.py:12");
    EXPECT_EQ(location_of(graph_, edge(".part")), "") << "any code may have stored it";
}

TEST_F(NamesTest, LocatesAnAttributeOfAFunctionAtTheFunction) {
    read("f:function@wrapper.py:4 f.__wrapped__->m m:method@class.py:9 m/__self__->A A.f->f");
    EXPECT_EQ(location_of(graph_, edge(".__wrapped__")), "wrapper.py:4");
}

TEST_F(NamesTest, LocatesAnItemAtTheReferenceToItsContainer) {
    read("f:frame@/app/a.py:5 f/local:parts->l l:list l[0]->f");
    EXPECT_EQ(location_of(graph_, edge("[0]")), "");
    EXPECT_EQ(location_of(graph_, edge("[0]"), edge("local:parts")), "/app/a.py:5");
    read("f:frame@/usr/lib/python3.11/logging/__init__.py:5 f/local:parts->l l:list l[0]->f");
    EXPECT_EQ(location_of(graph_, edge("[0]"), edge("local:parts")), "") << "no code to change";
}

}  // namespace
}  // namespace cyclewatch::analysis
