// SPDX-License-Identifier: Apache-2.0
#include "collector/heap_scan.h"
#include "collector/unreachable_set.h"
#include "compat/features.h"
#include "compat/generations.h"
#include "python/references.h"
#include "support/embedded_python.h"

#include <gtest/gtest.h>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace cyclewatch::collector {
namespace {

using Addresses = std::vector<PyObject*>;

Addresses sorted(std::span<PyObject* const> objects) {
    Addresses addresses(objects.begin(), objects.end());
    std::ranges::sort(addresses);
    return addresses;
}

void call_gc(const char* code) {
    ASSERT_EQ(PyRun_SimpleString((std::string("import gc; ") + code).c_str()), 0);
}

// Lists that refer to each other at random. Those in `held` are alive.
struct RandomLists {
    explicit RandomLists(unsigned seed) {
        constexpr int kLists = 40;
        std::mt19937 random(seed);
        std::vector<python::OwnedRef> lists;
        for (int i = 0; i < kLists; ++i) {
            lists.push_back(python::steal(PyList_New(0)));
        }
        for (int i = 0; i < kLists * 2; ++i) {
            PyList_Append(lists[random() % kLists].get(), lists[random() % kLists].get());
        }
        for (int i = 0; i < kLists; ++i) {
            if (random() % 8 == 0) {
                held.push_back(python::borrow(lists[i].get()));
            }
        }
    }
    std::vector<python::OwnedRef> held;
};

// The parameter selects one of two ways to list the candidates. Free-threaded builds use a third
// way for both values.
class HeapScanTest : public ::testing::TestWithParam<bool> {
  protected:
    void SetUp() override {
        test::start_python();
        call_gc("gc.disable(); gc.collect()");
        if (CYCLEWATCH_HAS_NO_GIL) {
            return;
        }
        const int thresholds[3] = {700, 10, 10};
        call_gc("gc.set_threshold(700, 10, 10)");
        ASSERT_NE(cw_find_generations(thresholds), 0);
        if (!GetParam()) {
            ::setenv("CYCLEWATCH_STRATEGY", "unproven", 1);
        }
        ASSERT_EQ(collector_is_known(), GetParam());
    }
    void TearDown() override {
        ::unsetenv("CYCLEWATCH_STRATEGY");
        call_gc("gc.unfreeze(); gc.collect()");
    }
};

TEST_P(HeapScanTest, FindsWhatTheNextCollectionFrees) {
    std::size_t total = 0;
    for (unsigned seed = 0; seed < 60; ++seed) {
        const int generation = static_cast<int>(seed % 3);
        const RandomLists lists(seed);
        Addresses found;
        {
            HeapScan scan;
            ASSERT_TRUE(scan_heap({.generation = generation}, scan));
            found = sorted(scan.collectable.objects());
            EXPECT_TRUE(scan.frozen.objects().empty());
        }
        total += found.size();
        const std::string collect = "assert gc.collect(" + std::to_string(generation) +
                                    ") == " + std::to_string(found.size());
        call_gc(collect.c_str());
        HeapScan again;
        ASSERT_TRUE(scan_heap({.generation = generation}, again));
        EXPECT_TRUE(again.collectable.objects().empty());
    }
    EXPECT_GT(total, 100U);
}

TEST_P(HeapScanTest, OlderObjectsKeepYoungOnesAlive) {
    if (CYCLEWATCH_HAS_NO_GIL) {
        GTEST_SKIP() << "without a GIL there are no generations";
    }
    const python::OwnedRef parent = python::steal(PyList_New(0));
    PyList_Append(parent.get(), parent.get());
    call_gc("gc.collect(0)");
    python::OwnedRef child = python::steal(PyList_New(0));
    PyList_Append(child.get(), child.get());
    PyObject* const young = child.get();
    PyList_Append(parent.get(), young);
    child.reset();
    HeapScan scan;
    ASSERT_TRUE(scan_heap({.generation = 0}, scan));
    EXPECT_TRUE(scan.collectable.objects().empty());
    PyList_SetSlice(parent.get(), 1, 2, nullptr);
    ASSERT_TRUE(scan_heap({.generation = 0}, scan));
    EXPECT_EQ(sorted(scan.collectable.objects()), Addresses{young});
    PyList_SetSlice(parent.get(), 0, 1, nullptr);
}

TEST_P(HeapScanTest, ChangesNoCount) {
    const RandomLists lists(1);
    const int young = cw_young_count();
    HeapScan scan;
    ASSERT_TRUE(scan_heap({}, scan));
    if (GetParam()) {  // gc.get_objects() makes a list
        EXPECT_EQ(cw_young_count(), young);
    }
    EXPECT_EQ(PyErr_Occurred(), nullptr);
}

INSTANTIATE_TEST_SUITE_P(Sources,
                         HeapScanTest,
                         ::testing::Values(true, false),
                         [](const auto& parameter) {
                             return std::string(parameter.param ? "CollectorsLists" : "PublicApi");
                         });

class FrozenTest : public HeapScanTest {};

TEST_P(FrozenTest, FrozenGarbageIsFoundOnlyOnRequest) {
    if (CYCLEWATCH_HAS_NO_GIL) {
        GTEST_SKIP() << "without a GIL frozen objects cannot be listed";
    }
    EXPECT_EQ(cw_has_frozen_objects(), 0);
    python::OwnedRef frozen = python::steal(PyList_New(0));
    PyObject* const address = frozen.get();
    PyList_Append(address, address);
    call_gc("gc.freeze()");
    EXPECT_NE(cw_has_frozen_objects(), 0);
    // A young list that the frozen one keeps alive, and one that refers to the frozen one.
    python::OwnedRef kept = python::steal(PyList_New(0));
    PyList_Append(address, kept.get());
    PyObject* const young = kept.get();
    kept.reset();
    python::OwnedRef other = python::steal(PyList_New(0));
    PyList_Append(other.get(), other.get());
    PyList_Append(other.get(), address);
    PyObject* const collectable = other.get();
    other.reset();
    frozen.reset();

    HeapScan scan;
    ASSERT_TRUE(scan_heap({.frozen = true}, scan));
    EXPECT_EQ(sorted(scan.frozen.objects()), sorted(Addresses{address, young}));
    EXPECT_EQ(sorted(scan.collectable.objects()), Addresses{collectable});
    ASSERT_TRUE(scan_heap({.frozen = false}, scan));
    EXPECT_EQ(sorted(scan.collectable.objects()), Addresses{collectable});
    call_gc("assert gc.collect() == 1; gc.unfreeze(); assert gc.collect() == 2");
}

INSTANTIATE_TEST_SUITE_P(Lists, FrozenTest, ::testing::Values(true));

TEST(CollectsAutomatically, ReadsTheSwitchAndTheThreshold) {
    test::start_python();
    call_gc("gc.enable()");
    EXPECT_NE(cw_collects_automatically(), 0);
    call_gc("gc.disable()");
    EXPECT_EQ(cw_collects_automatically(), 0);
    if (!CYCLEWATCH_HAS_NO_GIL) {
        call_gc("gc.enable(); gc.set_threshold(0, 10, 10)");
        EXPECT_EQ(cw_collects_automatically(), 0);
        call_gc("gc.set_threshold(700, 10, 10); gc.disable()");
    }
}

// Addresses are looked up, never dereferenced.
PyObject* object_at(std::uintptr_t address) {
    return reinterpret_cast<PyObject*>(address);  // NOLINT(performance-no-int-to-ptr)
}

// Checks that exactly `objects` are found, at their positions.
void check(const PointerIndex& index, const std::vector<PyObject*>& objects) {
    std::unordered_map<PyObject*, std::uint32_t> expected;
    for (std::uint32_t i = 0; i < objects.size(); ++i) {
        expected.emplace(objects[i], i);
    }
    for (PyObject* const object : objects) {
        const auto address = reinterpret_cast<std::uintptr_t>(object);
        for (const std::uintptr_t distance : {0, 1, 8, 16, 32, 4096, 1 << 20, 1 << 29}) {
            for (const std::uintptr_t near : {address + distance, address - distance}) {
                const auto found = expected.find(object_at(near));
                ASSERT_EQ(index.find(object_at(near)),
                          found == expected.end() ? PointerIndex::kAbsent : found->second)
                    << std::hex << near;
            }
        }
    }
    ASSERT_EQ(index.find(nullptr), PointerIndex::kAbsent);
}

std::vector<PyObject*> random_objects(std::uint64_t seed, std::uintptr_t step, std::size_t count) {
    std::mt19937_64 random(seed);
    std::vector<PyObject*> objects;
    for (std::size_t cluster = 0; cluster < 8; ++cluster) {
        std::uintptr_t address = (random() & 0x7FFF'FFFF'F000U) + 0x10'0000U;
        for (std::size_t i = 0; i < count / 8; ++i) {
            address += step * (1 + random() % 5);
            objects.push_back(object_at(address));
        }
    }
    std::ranges::sort(objects);
    objects.erase(std::unique(objects.begin(), objects.end()), objects.end());
    std::shuffle(objects.begin(), objects.end(), random);
    return objects;
}

TEST(PointerIndex, FindsTrackedObjects) {
    for (const std::uintptr_t step : {32U, 48U, 64U, 4096U, 1U << 20U, 3U << 20U}) {
        const std::vector<PyObject*> objects = random_objects(step, step & ~15U, 2000);
        PointerIndex index;
        index.build(objects);
        check(index, objects);
    }
}

TEST(PointerIndex, FindsObjectsThatAreCloserOrNotAligned) {
    for (const std::uintptr_t step : {1U, 8U, 16U, 24U}) {
        const std::vector<PyObject*> objects = random_objects(step, step, 2000);
        PointerIndex index;
        index.build(objects);
        check(index, objects);
    }
}

TEST(PointerIndex, FindsObjectsAtTheStartOfTheAddressSpace) {
    const std::vector<PyObject*> objects{object_at(16), object_at(0x1000), object_at(0x10'0000)};
    PointerIndex index;
    index.build(objects);
    check(index, objects);
}

TEST(PointerIndex, IsEmptyAtFirstAndCanBeRebuilt) {
    PointerIndex index;
    EXPECT_EQ(index.find(object_at(0x7000'0000'0000)), PointerIndex::kAbsent);
    index.build({});
    EXPECT_EQ(index.find(object_at(0x7000'0000'0000)), PointerIndex::kAbsent);
    for (const std::uint64_t seed : {1U, 2U}) {
        const std::vector<PyObject*> objects = random_objects(seed, 64, 500);
        index.build(objects);
        check(index, objects);
    }
}

}  // namespace
}  // namespace cyclewatch::collector
