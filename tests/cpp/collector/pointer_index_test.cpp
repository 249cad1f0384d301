// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <unordered_map>
#include <vector>

#include "collector/unreachable_set.h"

namespace cyclewatch::collector {
namespace {

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
