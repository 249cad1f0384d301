// SPDX-License-Identifier: Apache-2.0
#include "device/owner_detector.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "collector/gc_hook.h"
#include "compat/features.h"
#include "python/references.h"
#include "python/stop_the_world.h"
#include "support/embedded_python.h"

namespace cyclewatch::device {
namespace {

using Names = std::vector<std::string>;

std::string type_name(PyObject* object) {
    const std::string name = Py_TYPE(object)->tp_name;
    return name.substr(name.rfind('.') + 1);
}

// Searches each collection for owners.
class Search final : public collector::CollectionListener {
  public:
    void on_start(int /*generation*/) noexcept override {
        owners.clear();
        dependents.clear();
    }
    void on_unreachable(const collector::UnreachableSet& unreachable) noexcept override {
        Detection detection;
        python::with_world_stopped([&] { detector.detect(unreachable, registry, detection); });
        for (const DetectedOwner& owner : detection.owners) {
            owners.push_back(type_name(owner.object));
        }
        for (PyObject* const object : detection.dependents) {
            dependents.push_back(type_name(object));
        }
    }
    void on_stop(const collector::CollectionOutcome& /*outcome*/) noexcept override {
        std::ranges::sort(owners);
        std::ranges::sort(dependents);
    }

    OwnerRegistry registry;
    OwnerDetector detector;
    Names owners;      // names of their types
    Names dependents;  // the same
};

class OwnerDetectorTest : public ::testing::TestWithParam<const char*> {
  protected:
    OwnerDetectorTest()
        : script_(
              "import gc\n"
              "class Owner: __slots__ = ('other',)\n"
              "class Node: pass\n"
              "class Late: pass\n"
              "def drop(cls, **attributes):\n"
              "    node = cls()\n"
              "    node.me = node\n"
              "    node.__dict__.update(attributes)\n") {}

    void SetUp() override {
        run("gc.disable()");
        ::setenv("CYCLEWATCH_STRATEGY", GetParam(), 1);
        const auto installed = collector::install(search_);
        ASSERT_TRUE(installed.ok()) << installed.error();
        register_owner("Owner");
        run("gc.collect()");
    }
    void TearDown() override {
        collector::remove();
        ::unsetenv("CYCLEWATCH_STRATEGY");
    }

    void run(const std::string& code) {
        const python::OwnedRef result = python::steal(
            PyRun_String(code.c_str(), Py_file_input, script_.names(), script_.names()));
        EXPECT_TRUE(result) << code << ": " << test::take_python_error();
    }
    PyTypeObject* type(const char* name) { return reinterpret_cast<PyTypeObject*>(script_[name]); }
    void register_owner(const char* name) { search_.registry.register_owner(type(name), Py_None); }

    // The types of the owners among the garbage that `code` leaves.
    const Names& owners_in(const std::string& code) {
        run(code + "\ngc.collect(0)");
        return search_.owners;
    }

    test::PythonScript script_;
    Search search_;
};

TEST_P(OwnerDetectorTest, SeesATypeThatIsRegisteredAfterItsInstancesWereSeen) {
    EXPECT_EQ(owners_in("drop(Late)\nLate.drop = 1"), Names{});
    EXPECT_EQ(owners_in("drop(Late)"), Names{});
    register_owner("Late");
    EXPECT_EQ(owners_in("drop(Late)"), Names{"Late"});
    search_.registry.unregister_owner(type("Late"));
    EXPECT_EQ(owners_in("drop(Late)"), Names{});
}

TEST_P(OwnerDetectorTest, SeesAClassWhoseBasesChange) {
    run("class Plain: pass\n"
        "class Buffer: pass\n"
        "class Changing(Plain): pass\n");
    register_owner("Buffer");
    EXPECT_EQ(owners_in("Changing.drop = 1\nChanging.drop\ndrop(Changing)"), Names{});
    EXPECT_EQ(owners_in("Changing.__bases__ = (Buffer,)\nChanging.drop\ndrop(Changing)"),
              Names{"Changing"});
    EXPECT_EQ(owners_in("Changing.__bases__ = (Plain,)\nChanging.drop\ndrop(Changing)"), Names{});
}

TEST_P(OwnerDetectorTest, SeesANewTypeAtTheAddressOfAFreedOne) {
    if (CYCLEWATCH_HAS_NO_GIL) {
        GTEST_SKIP() << "classes and modules become immortal when a test starts a thread";
    }
    run("class Buffer: pass\n"
        "def lookalike(base):\n"
        "    class Same(base): value = 1\n"
        "    Same.value\n"  // gives the class a version
        "    return Same\n"
        "old = [lookalike(Node) for _ in range(50)]\n"
        "addresses = set(map(id, old))");
    register_owner("Buffer");
    EXPECT_EQ(owners_in("for cls in old: drop(cls)"), Names{});
    run("del cls\n"
        "old.clear()\n"
        "gc.collect()\n"
        "classes = []\n"
        "while not classes or (id(classes[-1]) not in addresses and len(classes) < 2000):\n"
        "    classes.append(lookalike(Buffer))\n"
        "new = classes[-1]\n"
        "is_reused = id(new) in addresses");
    if (script_["is_reused"] != Py_True && std::getenv("PYTHONMALLOC") != nullptr) {
        GTEST_SKIP() << "the allocator of a sanitizer does not reuse addresses (scripts/sanitize)";
    }
    ASSERT_EQ(script_["is_reused"], Py_True);
    EXPECT_EQ(owners_in("drop(new)"), Names{"Same"});
    run("del new\nclasses.clear()");
}

// The reference from an instance to its class is not counted if the class refers to itself.
TEST_P(OwnerDetectorTest, AnOldClassDiesWithTheSetOnlyIfItDoesNotReferToItself) {
    if (CYCLEWATCH_COLLECTIONS_ARE_FULL) {
        return;  // old classes are in the set
    }
    run("class Meta(type):\n"
        "    omits_itself = False\n"
        "    def mro(cls): return type.mro(cls)[cls.omits_itself:]\n"
        "class Base:\n"
        "    __slots__ = ('me',)\n"
        "class Other(Base): __slots__ = ()\n"
        "def make():\n"
        "    return Meta('Made', (Base,), {'__slots__': (), 'buffer': Owner()})\n"
        "without, ordinary = make(), make()\n"
        "Meta.omits_itself = True\n"
        "without.__bases__ = (Other,)\n"  // calls mro()
        "gc.collect()");
    EXPECT_EQ(owners_in("node = ordinary(); node.me = node\ndel node, ordinary"), Names{});
    EXPECT_EQ(owners_in("node = without(); node.me = node\ndel node, without"), Names{"Owner"});
    EXPECT_NE(std::ranges::find(search_.dependents, "Meta"), search_.dependents.end());
    run("gc.collect()");
}

TEST_P(OwnerDetectorTest, AnOldModuleDiesWithTheSet) {
    if (CYCLEWATCH_HAS_NO_GIL) {
        GTEST_SKIP() << "classes and modules become immortal when a test starts a thread";
    }
    run("import types\n"
        "module = types.ModuleType('sample')\n"
        "module.buffer = Owner()\n"
        "gc.collect()");
    EXPECT_EQ(owners_in("drop(Node, a=module)\ndel module"), Names{"Owner"});
    if (!CYCLEWATCH_COLLECTIONS_ARE_FULL) {
        EXPECT_NE(std::ranges::find(search_.dependents, "module"), search_.dependents.end());
    }
}

// An instance refers to its class, which may be an owner itself.
TEST_P(OwnerDetectorTest, FindsAClassThatIsAnOwner) {
    if (CYCLEWATCH_HAS_NO_GIL) {
        GTEST_SKIP() << "classes and modules become immortal when a test starts a thread";
    }
    run("class Meta(type): pass\n");
    register_owner("Meta");
    EXPECT_EQ(owners_in("drop(Meta('Made', (), {}))"), Names{"Meta"});
}

std::vector<const char*> strategies() {
    std::vector<const char*> names{"ride-along"};
    if (!CYCLEWATCH_HAS_NO_GIL) {
        names.push_back("heap-scan");
    }
    return names;
}

INSTANTIATE_TEST_SUITE_P(BothStrategies,
                         OwnerDetectorTest,
                         ::testing::ValuesIn(strategies()),
                         [](const auto& parameter) {
                             return std::string(parameter.param) == "ride-along" ? "RideAlong"
                                                                                 : "HeapScan";
                         });

}  // namespace
}  // namespace cyclewatch::device
