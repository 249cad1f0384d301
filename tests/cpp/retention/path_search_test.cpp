// SPDX-License-Identifier: Apache-2.0
#include "retention/path_search.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "compat/features.h"
#include "python/references.h"
#include "support/embedded_python.h"

namespace cyclewatch::retention {
namespace {

// `a` refers to `b`. The test adds the reference from `b` to `a`, as a library would that does not
// implement tp_traverse.
class PathSearchTest : public ::testing::Test {
  protected:
    PathSearchTest()
        : script_(
              "class Node: pass\n"
              "a, b = Node(), Node()\n"
              "a.b = b\n"),
          a_(script_["a"]),
          b_(script_["b"]),
          held_(python::borrow(a_)) {
        PyDict_SetItemString(script_.names(), "a", Py_None);
        PyDict_SetItemString(script_.names(), "b", Py_None);
    }

    void SetUp() override {
        if (CYCLEWATCH_HAS_NO_GIL) {
            GTEST_SKIP() << "the search does not support free-threaded builds";
        }
    }

    // Searches for `b`, with `count` added to the reference count of `a`.
    [[nodiscard]] SearchResult find(Py_ssize_t count) const {
        SearchResult found;
        with_heap([&](collector::TrackedObjects& objects) {
            collector::HiddenReferences hidden;
            hidden.references.push_back({.holder = b_, .target = a_, .name = {}});
            hidden.counts.emplace_back(a_, count);
            const HeapGraph graph(objects, b_, nullptr, {}, {}, std::move(hidden));
            const std::uint32_t target = graph.node_of(b_);
            const Roots roots(graph, target, CallerVariables::count);
            found = PathFinder(graph, roots, VisitLimit(SIZE_MAX)).find(target, 1);
        });
        return found;
    }

    test::PythonScript script_;
    PyObject* a_;
    PyObject* b_;
    python::OwnedRef held_;  // the hidden reference
};

TEST_F(PathSearchTest, FindsNoPathToACycleOfWhichAllReferencesAreKnown) {
    const SearchResult found = find(0);
    EXPECT_TRUE(found.paths.empty());
    EXPECT_TRUE(found.in_cycle);
}

TEST_F(PathSearchTest, AssumesAnUnknownHolderOfAnObjectWithFewerReferencesThanHolders) {
    for (const Py_ssize_t count : {-1, 1}) {
        const SearchResult found = find(count);
        ASSERT_EQ(found.paths.size(), 1U) << count;
        EXPECT_EQ(found.paths[0].root, kAnonymous);
        EXPECT_FALSE(found.in_cycle);
    }
}

}  // namespace
}  // namespace cyclewatch::retention
