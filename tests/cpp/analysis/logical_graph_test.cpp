// SPDX-License-Identifier: Apache-2.0
#include "analysis/logical_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/names.h"
#include "analysis/ordering.h"
#include "support/graph_text.h"

namespace cyclewatch::analysis {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

// Of all nodes, none of which must be kept.
LogicalGraph logical(const model::ReferenceGraph& graph) {
    return make_logical(graph,
                        std::vector<char>(graph.nodes.size(), 0),
                        std::vector<std::uint32_t>(graph.nodes.size(), 1));
}

// The logical references as text: "m.A .b m.B".
std::vector<std::string> collapse(const model::Observation& observation) {
    std::vector<char> keep(observation.graph.nodes.size(), 0);
    for (const model::DeviceOwner& owner : observation.owners) {
        keep[index_of(owner.node)] = 1;
    }
    const std::vector<std::uint32_t> copies(keep.size(), 1);
    const LogicalGraph graph = make_logical(observation.graph, keep, copies);
    std::vector<std::string> references;
    for (std::uint32_t e = 0; e < graph.edges.size(); ++e) {
        references.push_back(full_name(graph, graph.edges[e].holder) + " " + label_of(graph, e) +
                             " " + full_name(graph, graph.targets[e]));
    }
    return references;
}

std::vector<std::string> collapse(std::string_view text) {
    return collapse(test_support::observe(text));
}

TEST(LogicalGraph, TakesAnInstanceAndItsDictForOne) {
    EXPECT_THAT(collapse("A/__dict__->d:instance_dict d.b->B d.c->C"),
                UnorderedElementsAre("m.A .b m.B", "m.A .c m.C"));
}

TEST(LogicalGraph, NamesAClosureByItsVariable) {
    EXPECT_THAT(collapse("f:function f/__closure__->c:closure c/closure:self->x:cell "
                         "x/cell_contents->A"),
                ElementsAre("function m.f closure:self m.A"));
}

TEST(LogicalGraph, NamesAFramesVariableInACell) {
    EXPECT_THAT(collapse("f:frame f/local:err->x:cell x/cell_contents->e:exception"),
                ElementsAre("frame of m.f local:err m.e"));
}

TEST(LogicalGraph, TakesAModuleAndItsDictOfHooksForOne) {
    EXPECT_THAT(collapse("M/__dict__->d:instance_dict d._forward_hooks->h:nn_hooks "
                         "h/forward_hook->f:function"),
                ElementsAre("m.M forward_hook function m.f"));
}

TEST(LogicalGraph, NamesArgumentsOfAPartial) {
    EXPECT_THAT(collapse("p:partial p/args->a:partial_args a/args[0]->A "
                         "p/keywords->k:partial_keywords k/keywords['x']->B"),
                UnorderedElementsAre("functools.partial args[0] m.A",
                                     "functools.partial keywords['x'] m.B"));
}

TEST(LogicalGraph, NamesParametersOfAModule) {
    EXPECT_THAT(collapse("M/__dict__->d:instance_dict d._parameters->p:nn_children p.weight->w"),
                ElementsAre("m.M .weight m.w"));
}

TEST(LogicalGraph, GivesEveryHolderOfASharedCellItsOwnReference) {
    EXPECT_THAT(collapse("f:function g:function f/closure:x->c:cell g/closure:x->c "
                         "c/cell_contents->A"),
                UnorderedElementsAre("function m.f closure:x m.A", "function m.g closure:x m.A"));
}

TEST(LogicalGraph, KeepsTheRawWay) {
    const model::Observation observation = test_support::observe(
        "f:function f/__closure__->c:closure c/closure:self->x:cell "
        "x/cell_contents->A");
    const LogicalGraph graph = logical(observation.graph);
    EXPECT_THAT(reference_of(graph, 0).raw_path,
                ElementsAre("__closure__", "closure:self", "cell_contents"));
}

TEST(LogicalGraph, KeepsPartsThatNobodyHolds) {
    EXPECT_THAT(collapse("d:instance_dict d.a->A A.d->B"),
                UnorderedElementsAre("dict .a m.A", "m.A .d m.B"));
}

TEST(LogicalGraph, KeepsCellsThatHoldEachOther) {
    EXPECT_THAT(
        collapse("f:function f/closure:x->a:cell a/cell_contents->b:cell "
                 "b/cell_contents->a"),
        UnorderedElementsAre(
            "function m.f closure:x cell", "cell cell_contents cell", "cell cell_contents cell"));
}

TEST(LogicalGraph, KeepsOwnersWhateverTheyAre) {
    EXPECT_THAT(collapse("A/x->d:instance_dict:owner(8) d.b->B"),
                UnorderedElementsAre("m.A x dict", "dict .b m.B"));
}

TEST(LogicalGraph, KeepsANamespaceThatFunctionsShareWithTheirModule) {
    EXPECT_THAT(
        collapse("M:module M/__dict__->d:module_dict d.f->f:function f/__globals__->d"),
        UnorderedElementsAre(
            "module m.M __dict__ dict", "dict .f function m.f", "function m.f __globals__ dict"));
}

TEST(LogicalGraph, DoesNotMultiplyACrowdedPart) {
    std::string text = "d:instance_dict";
    for (int i = 0; i < 100; ++i) {
        text += " A" + std::to_string(i) + "/__dict__->d d.n" + std::to_string(i) + "->B";
    }
    EXPECT_EQ(collapse(text).size(), 200U);
}

TEST(LogicalGraph, OrdersReferencesByWhatTheyAre) {
    const std::string text = "A.z->C A.b->B A[1]->C B.a->A C.x->B";
    const auto in_order = [&](std::uint64_t shuffle) {
        const model::Observation observation = test_support::observe(text, shuffle);
        LogicalGraph graph = logical(observation.graph);
        put_in_order(graph, std::vector<std::uint64_t>(graph.nodes(), 0));
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
