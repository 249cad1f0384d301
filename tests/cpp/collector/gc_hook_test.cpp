// SPDX-License-Identifier: Apache-2.0
#include "collector/gc_hook.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "compat/features.h"
#include "python/references.h"
#include "support/embedded_python.h"

namespace cyclewatch::collector {
namespace {

// Records the addresses of unreachable objects, which are compared, never dereferenced.
class Recorder final : public CollectionListener {
  public:
    void on_start(int generation) noexcept override {
        generations.push_back(generation);
        seen.clear();
    }
    void on_unreachable(const UnreachableSet& unreachable) noexcept override {
        seen.assign(unreachable.objects().begin(), unreachable.objects().end());
    }
    void on_stop(const CollectionOutcome& outcome) noexcept override {
        misses.push_back(outcome.miss);
        reclaimed = outcome.reclaimed;
    }

    std::vector<PyObject*> seen;
    std::vector<int> generations;
    std::vector<Miss> misses;
    std::uint64_t reclaimed = 0;  // by the last collection
};

long collect(int generation) {
    const python::OwnedRef gc = python::steal(PyImport_ImportModule("gc"));
    const python::OwnedRef count =
        python::steal(PyObject_CallMethod(gc.get(), "collect", "i", generation));
    return count ? PyLong_AsLong(count.get()) : -1;
}

// Creates lists that contain themselves and returns their sorted addresses. They are unreachable
// unless a list `parent` is given to keep them alive.
std::vector<PyObject*> make_cycles(int count, PyObject* parent = nullptr) {
    std::vector<PyObject*> addresses;
    for (int i = 0; i < count; ++i) {
        const python::OwnedRef list = python::steal(PyList_New(0));
        PyList_Append(list.get(), list.get());
        if (parent != nullptr) {
            PyList_Append(parent, list.get());
        }
        addresses.push_back(list.get());
    }
    std::ranges::sort(addresses);
    return addresses;
}

class GcHookTest : public ::testing::TestWithParam<const char*> {
  protected:
    void SetUp() override {
        test::start_python();
        PyRun_SimpleString("import gc; gc.disable()");
        ::setenv("CYCLEWATCH_STRATEGY", GetParam(), 1);
        const auto installed = install(recorder_);
        ASSERT_TRUE(installed.ok()) << installed.error();
        collect(2);
    }
    void TearDown() override {
        remove();
        ::unsetenv("CYCLEWATCH_STRATEGY");
    }
    std::vector<PyObject*> seen_sorted() {
        std::vector<PyObject*> seen = recorder_.seen;
        std::ranges::sort(seen);
        return seen;
    }
    Recorder recorder_;
};

TEST_P(GcHookTest, TheUnreachableSetIsTheGarbage) {
    for (int generation = 0; generation < 3; ++generation) {
        const std::vector<PyObject*> garbage = make_cycles(500);
        EXPECT_EQ(collect(generation), 500);
        EXPECT_EQ(seen_sorted(), garbage);
        EXPECT_EQ(recorder_.generations.back(), generation);
        EXPECT_EQ(recorder_.misses.back(), Miss::none);
    }
}

TEST_P(GcHookTest, IsInstalledOnceAndRemoved) {
    ASSERT_TRUE(in_place());
    put_back();
    const python::OwnedRef gc = python::steal(PyImport_ImportModule("gc"));
    const python::OwnedRef callbacks = python::steal(PyObject_GetAttrString(gc.get(), "callbacks"));
    EXPECT_EQ(PyList_GET_SIZE(callbacks.get()), 1);
    remove();
    EXPECT_EQ(PyList_GET_SIZE(callbacks.get()), 0);
    const std::size_t before = recorder_.generations.size();
    collect(0);
    EXPECT_EQ(recorder_.generations.size(), before);
}

TEST_P(GcHookTest, DoesNotChangeTheYoungCount) {
    collect(0);
    const int with_hook = cw_young_count();
    remove();
    collect(0);
    EXPECT_EQ(cw_young_count(), with_hook);
}

std::vector<const char*> strategies() {
    std::vector<const char*> names{"ride-along"};
    if (!CYCLEWATCH_HAS_NO_GIL) {
        names.push_back("heap-scan");
    }
    return names;
}

INSTANTIATE_TEST_SUITE_P(
    BothStrategies, GcHookTest, ::testing::ValuesIn(strategies()), [](const auto& parameter) {
        return std::string(parameter.param) == "ride-along" ? "RideAlong" : "HeapScan";
    });

class UnknownVersionTest : public GcHookTest {};

TEST_P(UnknownVersionTest, UsesTheRideAlongAfterTheSelfTest) {
    EXPECT_EQ(strategy(), Strategy::ride_along);
    const std::vector<PyObject*> garbage = make_cycles(10);
    EXPECT_EQ(collect(0), 10);
    EXPECT_EQ(seen_sorted(), garbage);
}

// Without a GIL, other threads change reference counts while the scan reads them.
TEST(GcHook, ScanningTheHeapRequiresAGil) {
    test::start_python();
    Recorder recorder;
    ::setenv("CYCLEWATCH_STRATEGY", "heap-scan", 1);
    const auto installed = install(recorder);
    ::unsetenv("CYCLEWATCH_STRATEGY");
    EXPECT_EQ(installed.ok(), !CYCLEWATCH_HAS_NO_GIL);
    EXPECT_EQ(in_place(), installed.ok());
    remove();
}

INSTANTIATE_TEST_SUITE_P(Unknown, UnknownVersionTest, ::testing::Values("unproven"));

}  // namespace
}  // namespace cyclewatch::collector
