// SPDX-License-Identifier: Apache-2.0
#include "retention/heap_graph.h"

#include <gtest/gtest.h>

#include "python/references.h"
#include "support/embedded_python.h"

namespace cyclewatch::retention {
namespace {

class HeapGraphTest : public ::testing::Test {
  protected:
    void SetUp() override { test::start_python(); }
};

TEST_F(HeapGraphTest, ListsTheHolderOfEachReference) {
    const python::OwnedRef target = python::steal(PyList_New(0));
    const python::OwnedRef holder = python::steal(PyList_New(0));
    PyList_Append(holder.get(), target.get());
    PyList_Append(holder.get(), target.get());

    with_heap([&](collector::TrackedObjects& objects) {
        const HeapGraph graph(objects, target.get(), nullptr);
        const std::uint32_t node = graph.node_of(target.get());
        ASSERT_NE(node, HeapGraph::kAbsent);
        EXPECT_EQ(graph.object(node), target.get());
        ASSERT_EQ(graph.holders(node).size(), 2U);
        EXPECT_EQ(graph.object(graph.holders(node)[0]), holder.get());
        EXPECT_EQ(graph.object(graph.holders(node)[1]), holder.get());
        EXPECT_EQ(graph.unexplained(node), 1);  // of `target`
    });
}

TEST_F(HeapGraphTest, LeavesOutTheReferencesOfTheIgnoredObject) {
    const python::OwnedRef target = python::steal(PyList_New(0));
    const python::OwnedRef box = python::steal(PyList_New(0));
    PyList_Append(box.get(), target.get());

    with_heap([&](collector::TrackedObjects& objects) {
        const HeapGraph graph(objects, target.get(), box.get());
        const std::uint32_t node = graph.node_of(target.get());
        EXPECT_TRUE(graph.holders(node).empty());
        EXPECT_EQ(graph.unexplained(node), 2);
    });
}

TEST_F(HeapGraphTest, IncludesATargetThatIsNotTracked) {
    const python::OwnedRef target = python::steal(PyUnicode_FromString("not tracked, not shared"));
    const python::OwnedRef holder = python::steal(PyList_New(0));
    PyList_Append(holder.get(), target.get());

    with_heap([&](collector::TrackedObjects& objects) {
        const HeapGraph graph(objects, target.get(), nullptr);
        const std::uint32_t node = graph.node_of(target.get());
        ASSERT_NE(node, HeapGraph::kAbsent);
        ASSERT_EQ(graph.holders(node).size(), 1U);
        EXPECT_EQ(graph.object(graph.holders(node)[0]), holder.get());
        EXPECT_EQ(graph.node_of(Py_None), HeapGraph::kAbsent);
    });
}

}  // namespace
}  // namespace cyclewatch::retention
