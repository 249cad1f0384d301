// SPDX-License-Identifier: Apache-2.0
#include "collector/never_freed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

#include "compat/features.h"
#include "python/references.h"
#include "support/embedded_python.h"

namespace cyclewatch::collector {
namespace {

using Objects = std::vector<PyObject*>;

// `a` refers to `b`, and `b` to `a` and `c`. The test adds the references from `b` itself, as a
// library would that does not implement tp_traverse.
class NeverFreedTest : public ::testing::Test {
  protected:
    NeverFreedTest()
        : script_(
              "import gc\n"
              "gc.collect()\n"
              "class Node: pass\n"
              "a, b, c = Node(), Node(), Node()\n"
              "a.b = b\n"),
          objects_{script_["a"], script_["b"], script_["c"]},
          held_{python::borrow(objects_[0]), python::borrow(objects_[2])} {
        hidden_.references.push_back({.holder = objects_[1], .target = objects_[0], .name = {}});
        hidden_.references.push_back({.holder = objects_[1], .target = objects_[2], .name = {}});
        hidden_.sort();
    }

    void SetUp() override {
        if (CYCLEWATCH_HAS_NO_GIL) {
            GTEST_SKIP() << "the search does not support free-threaded builds";
        }
    }

    // Deletes the variables of the script.
    void drop() {
        for (const char* const name : {"a", "b", "c"}) {
            PyDict_SetItemString(script_.names(), name, Py_None);
        }
    }

    [[nodiscard]] Objects found() {
        UnreachableSet set;
        HeapScan unreachable;
        EXPECT_TRUE(find_never_freed(hidden_, unreachable, set));
        const auto objects = set.objects();
        return {objects.begin(), objects.end()};
    }
    [[nodiscard]] bool is_found(PyObject* object) {
        const Objects all = found();
        return std::ranges::find(all, object) != all.end();
    }

    test::PythonScript script_;
    Objects objects_;
    std::array<python::OwnedRef, 2> held_;  // the hidden references
    HiddenReferences hidden_;
};

TEST_F(NeverFreedTest, FindsACycleThroughAHiddenReferenceAndWhatItKeepsAlive) {
    drop();
    for (PyObject* const object : objects_) {
        EXPECT_TRUE(is_found(object));
    }
}

TEST_F(NeverFreedTest, OmitsACycleToWhichAnotherReferenceLeads) {
    EXPECT_FALSE(is_found(objects_[0]));
    const python::OwnedRef other = python::borrow(objects_[1]);
    drop();
    EXPECT_FALSE(is_found(objects_[0]));
}

TEST_F(NeverFreedTest, OmitsACycleOfWhichOneReferenceIsUnknown) {
    drop();
    hidden_.counts.emplace_back(objects_[0], 1);  // one more reference, from an unknown holder
    EXPECT_FALSE(is_found(objects_[0]));
    hidden_.counts.clear();
    hidden_.references.erase(hidden_.references.begin());
    EXPECT_FALSE(is_found(objects_[0]));
}

TEST_F(NeverFreedTest, SubtractsTheReferencesOfTheSearch) {
    drop();
    hidden_.held.push_back(python::borrow(objects_[1]));
    EXPECT_TRUE(is_found(objects_[1]));
}

TEST_F(NeverFreedTest, OmitsWhatCollectionsFree) {
    EXPECT_EQ(never_freed_among(objects_, hidden_).size(), 3U);
    for (HiddenReference& reference : hidden_.references) {
        reference.is_visited = true;  // only labels, then
    }
    EXPECT_TRUE(never_freed_among(objects_, hidden_).empty());
    EXPECT_TRUE(never_freed_among(objects_, HiddenReferences()).empty());
    EXPECT_TRUE(never_freed_among(Objects(), hidden_).empty());
}

TEST_F(NeverFreedTest, OmitsWhatLaterCollectionsSee) {
    const test::PythonScript other("class Node: pass\nd = Node()\nd.d = d\n");
    PyObject* const d = other["d"];
    objects_.push_back(d);
    hidden_.references.push_back({.holder = d, .target = objects_[0], .name = {}});
    hidden_.sort();
    EXPECT_EQ(never_freed_among(objects_, hidden_).size(), 3U) << "a collection frees only d";
    for (HiddenReference& reference : hidden_.references) {
        reference.is_visited_unless_shared = reference.holder != d;
    }
    EXPECT_TRUE(never_freed_among(objects_, hidden_).empty()) << "the next one frees the others";
    hidden_.references.push_back({.holder = objects_[2], .target = objects_[0], .name = {}});
    hidden_.sort();
    EXPECT_EQ(never_freed_among(objects_, hidden_).size(), 3U) << "c shares a, too";
}

// The objects of the fixture to which `roots` do not lead.
Objects reached_otherwise(std::span<PyObject* const> objects, const Objects& roots) {
    Objects others;
    EXPECT_TRUE(visit_reached_otherwise(roots, [&](PyObject* object) {
        if (std::ranges::find(objects, object) != objects.end()) {
            others.push_back(object);
        }
    }));
    return others;
}

TEST_F(NeverFreedTest, ListsWhatOtherRootsKeepAlive) {
    HeapScan scan;
    ASSERT_TRUE(scan_heap({.generation = 2, .frozen = true}, scan, &hidden_));
    EXPECT_EQ(reached_otherwise(objects_, {}).size(), 3U);
    EXPECT_EQ(reached_otherwise(objects_, {objects_[0]}).size(), 0U) << "hidden references count";
    EXPECT_EQ(reached_otherwise(objects_, {objects_[2]}), Objects({objects_[0], objects_[1]}));
    drop();
    ASSERT_TRUE(scan_heap({.generation = 2, .frozen = true}, scan, &hidden_));
    EXPECT_EQ(reached_otherwise(objects_, {}).size(), 0U) << "they are unreachable";
    release_scan_memory();
    EXPECT_FALSE(visit_reached_otherwise({}, [](PyObject*) {}));
}

}  // namespace
}  // namespace cyclewatch::collector
