// SPDX-License-Identifier: Apache-2.0
#include "analysis/collapsed_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/canonical_order.h"
#include "analysis/names.h"
#include "support/graph_text.h"

namespace cyclewatch::analysis {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

// Of all nodes, none of which must be kept.
CollapsedGraph collapsed(const model::ReferenceGraph& graph) {
    return collapse(graph, std::vector<char>(graph.nodes.size(), 0));
}

// The collapsed references as text: "m.A .b m.B".
std::vector<std::string> collapsed_references(const model::Observation& observation) {
    std::vector<char> keep(observation.graph.nodes.size(), 0);
    for (const model::DeviceOwner& owner : observation.owners) {
        keep[index_of(owner.node)] = 1;
    }
    const CollapsedGraph graph = collapse(observation.graph, keep);
    std::vector<std::string> references;
    for (std::uint32_t e = 0; e < graph.edges.size(); ++e) {
        references.push_back(full_name(graph, graph.edges[e].holder) + " " + label_of(graph, e) +
                             " " + full_name(graph, graph.targets[e]));
    }
    return references;
}

std::vector<std::string> collapsed_references(std::string_view text) {
    return collapsed_references(test_support::observe(text));
}

TEST(CollapsedGraph, TakesAnInstanceAndItsDictForOne) {
    EXPECT_THAT(collapsed_references("A/__dict__->d:instance_dict d.b->B d.c->C"),
                UnorderedElementsAre("m.A .b m.B", "m.A .c m.C"));
}

TEST(CollapsedGraph, NamesAClosureByItsVariable) {
    EXPECT_THAT(collapsed_references("f:function f/__closure__->c:closure c/closure:self->x:cell "
                                     "x/cell_contents->A"),
                ElementsAre("function m.f closure:self m.A"));
}

TEST(CollapsedGraph, NamesAFramesVariableInACell) {
    EXPECT_THAT(collapsed_references("f:frame f/local:err->x:cell x/cell_contents->e:exception"),
                ElementsAre("frame of m.f local:err m.e"));
}

TEST(CollapsedGraph, TakesAModuleAndItsDictOfHooksForOne) {
    EXPECT_THAT(collapsed_references("M/__dict__->d:instance_dict d._forward_hooks->h:nn_hooks "
                                     "h/forward_hook->f:function"),
                ElementsAre("m.M forward_hook function m.f"));
}

TEST(CollapsedGraph, NamesArgumentsOfAPartial) {
    EXPECT_THAT(collapsed_references("p:partial p/args->a:partial_args a/args[0]->A "
                                     "p/keywords->k:partial_keywords k/keywords['x']->B"),
                UnorderedElementsAre("functools.partial args[0] m.A",
                                     "functools.partial keywords['x'] m.B"));
}

TEST(CollapsedGraph, NamesParametersOfAModule) {
    EXPECT_THAT(collapsed_references(
                    "M/__dict__->d:instance_dict d._parameters->p:nn_children p.weight->w"),
                ElementsAre("m.M .weight m.w"));
}

TEST(CollapsedGraph, GivesEveryHolderOfASharedCellItsOwnReference) {
    EXPECT_THAT(collapsed_references("f:function g:function f/closure:x->c:cell g/closure:x->c "
                                     "c/cell_contents->A"),
                UnorderedElementsAre("function m.f closure:x m.A", "function m.g closure:x m.A"));
}

TEST(CollapsedGraph, KeepsTheRawWay) {
    const model::Observation observation = test_support::observe(
        "f:function f/__closure__->c:closure c/closure:self->x:cell "
        "x/cell_contents->A");
    const CollapsedGraph graph = collapsed(observation.graph);
    EXPECT_THAT(reference_of(graph, 0).raw_path,
                ElementsAre("__closure__", "closure:self", "cell_contents"));
}

TEST(CollapsedGraph, KeepsPartsThatNobodyHolds) {
    EXPECT_THAT(collapsed_references("d:instance_dict d.a->A A.d->B"),
                UnorderedElementsAre("dict .a m.A", "m.A .d m.B"));
}

TEST(CollapsedGraph, KeepsCellsThatHoldEachOther) {
    EXPECT_THAT(
        collapsed_references("f:function f/closure:x->a:cell a/cell_contents->b:cell "
                             "b/cell_contents->a"),
        UnorderedElementsAre(
            "function m.f closure:x cell", "cell cell_contents cell", "cell cell_contents cell"));
}

TEST(CollapsedGraph, KeepsOwnersWhateverTheyAre) {
    EXPECT_THAT(collapsed_references("A/x->d:instance_dict:owner(8) d.b->B"),
                UnorderedElementsAre("m.A x dict", "dict .b m.B"));
}

TEST(CollapsedGraph, KeepsANamespaceThatFunctionsShareWithTheirModule) {
    EXPECT_THAT(
        collapsed_references("M:module M/__dict__->d:module_dict d.f->f:function f/__globals__->d"),
        UnorderedElementsAre(
            "module m.M __dict__ dict", "dict .f function m.f", "function m.f __globals__ dict"));
}

TEST(CollapsedGraph, DoesNotMultiplyACrowdedPart) {
    std::string text = "d:instance_dict";
    for (int i = 0; i < 100; ++i) {
        text += " A" + std::to_string(i) + "/__dict__->d d.n" + std::to_string(i) + "->B";
    }
    EXPECT_EQ(collapsed_references(text).size(), 200U);
}

TEST(CollapsedGraph, OrdersReferencesByWhatTheyAre) {
    const std::string text = "A.z->C A.b->B A[1]->C B.a->A C.x->B";
    const auto in_order = [&](std::uint64_t shuffle) {
        const model::Observation observation = test_support::observe(text, shuffle);
        CollapsedGraph graph = collapsed(observation.graph);
        canonicalize(graph, std::vector<std::uint64_t>(graph.nodes(), 0));
        std::vector<std::string> of_a;
        for (std::uint32_t e = 0; e < graph.edges.size(); ++e) {
            if (full_name(graph, graph.edges[e].holder) == "m.A") {
                of_a.push_back(label_of(graph, e));
            }
        }
        return of_a;
    };
    for (std::uint64_t shuffle = 0; shuffle < 20; ++shuffle) {
        EXPECT_THAT(in_order(shuffle), ElementsAre(".b", ".z", "[1]"));
    }
}

}  // namespace
}  // namespace cyclewatch::analysis
