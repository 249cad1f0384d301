// SPDX-License-Identifier: Apache-2.0
// Names of objects and locations of references.
#include "analysis/names.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "support/graph_text.h"

namespace cyclewatch::analysis {
namespace {

class NamesTest : public ::testing::Test {
  protected:
    void read(std::string_view text) {
        observation_ = test_support::observe(text);
        graph_ =
            collapse(observation_.graph, std::vector<char>(observation_.graph.nodes.size(), 0));
    }
    // The reference with that label.
    std::uint32_t edge(std::string_view label) const {
        for (std::uint32_t e = 0; e < graph_.edges.size(); ++e) {
            if (label_of(graph_, e) == label) {
                return e;
            }
        }
        ADD_FAILURE() << "no reference " << label;
        return kNone;
    }
    std::uint32_t holder(std::string_view label) const { return graph_.edges[edge(label)].holder; }

    model::Observation observation_;
    CollapsedGraph graph_;
};

TEST_F(NamesTest, NamesTheResultOfLocalsByItsFunction) {
    read("A.kept->d d:locals=m.Engine.run@run.py:7 d['self']->A");
    const std::uint32_t dict = holder("['self']");
    EXPECT_EQ(full_name(graph_, dict), "locals() of m.Engine.run");
    EXPECT_EQ(step_text(graph_, edge("['self']")), "['self']");
    const std::vector<std::uint32_t> cycle{edge("['self']"), edge(".kept")};
    EXPECT_EQ(cycle_text(graph_, cycle), "locals()['self'] -> A.kept -> locals()");
    EXPECT_EQ(location_of(graph_, edge("['self']")), "run.py:7");
}

TEST_F(NamesTest, NamesABuiltInMethod) {
    read("A.remove->b b:builtin_function=list.remove b/__self__->l l:list l[0]->A");
    EXPECT_EQ(full_name(graph_, holder("__self__")), "builtin method list.remove");
    EXPECT_EQ(step_text(graph_, edge("__self__")), "remove.__self__");
}

TEST_F(NamesTest, LocatesAStoredCallableAtItsDefinition) {
    read(
        "A@class.py:1 A.step->f f:function@helper.py:9 f/closure:model->A A.part->B B@part.py:3 "
        "B.whole->A A.later->p p:partial@helper.py:12 p/args[0]->A");
    EXPECT_EQ(location_of(graph_, edge(".step")), "helper.py:9");
    EXPECT_EQ(location_of(graph_, edge(".later")), "helper.py:12");
    EXPECT_EQ(location_of(graph_, edge("args[0]")), "helper.py:12");
    EXPECT_EQ(location_of(graph_, edge(".part")), "class.py:1") << "not the class of the target";
}

TEST_F(NamesTest, LocatesAnAttributeOfAFunctionAtTheFunction) {
    read("f:function@wrapper.py:4 f.__wrapped__->m m:method@class.py:9 m/__self__->A A.f->f");
    EXPECT_EQ(location_of(graph_, edge(".__wrapped__")), "wrapper.py:4");
}

TEST_F(NamesTest, LocatesAnItemAtTheReferenceToItsContainer) {
    read("A=torch.A@/x/site-packages/torch/a.py:5 A.parts->l l:list l[0]->A");
    EXPECT_EQ(location_of(graph_, edge("[0]")), "");
    EXPECT_EQ(location_of(graph_, edge("[0]"), edge(".parts")), "/x/site-packages/torch/a.py:5");
    read("A=logging.Logger.A@/usr/lib/python3.11/logging/__init__.py:5 A.parts->l l:list l[0]->A");
    EXPECT_EQ(location_of(graph_, edge("[0]"), edge(".parts")), "") << "no code to change";
}

}  // namespace
}  // namespace cyclewatch::analysis
