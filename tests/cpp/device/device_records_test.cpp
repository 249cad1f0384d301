// SPDX-License-Identifier: Apache-2.0
#include "device/device_records.h"
#include "cuda_simulation.h"
#include "support/embedded_python.h"

#include <gtest/gtest.h>
#include <string>

namespace cyclewatch::device {
namespace {

using model::MemoryBreakdown;

constexpr std::uint64_t kCapacity = 80'000;

std::uint64_t sum_of_parts(const MemoryBreakdown& parts) {
    return parts.live + parts.dead + parts.torch_cache + parts.pool_used + parts.pool_cache +
           parts.graphs + parts.other + parts.free;
}

TEST(BreakDown, DividesTheMemoryBeforeACollection) {
    // The collection freed 8,000 bytes of the 9,000 that torch had allocated.
    const MemoryBreakdown parts =
        break_down({.cuda = {0, 60'000, kCapacity},
                    .torch = TorchMemory{.allocated = 1'000, .reserved = 10'000},
                    .reserved = {.pool_reserved = 3'000, .pool_used = 2'000, .graphs = 500},
                    .dead = 8'000,
                    .freed_to_torch = 8'000});
    EXPECT_EQ(parts.live, 1'000U);
    EXPECT_EQ(parts.dead, 8'000U);
    EXPECT_EQ(parts.torch_cache, 1'000U);
    EXPECT_EQ(parts.pool_used, 2'000U);
    EXPECT_EQ(parts.pool_cache, 1'000U);
    EXPECT_EQ(parts.graphs, 500U);
    EXPECT_EQ(parts.free, 60'000U);
    EXPECT_EQ(parts.other, kCapacity - 60'000 - 13'500);
}

TEST(BreakDown, CountsDeadMemoryOfAScanAsAllocated) {
    const MemoryBreakdown parts =
        break_down({.cuda = {0, 60'000, kCapacity},
                    .torch = TorchMemory{.allocated = 9'000, .reserved = 10'000},
                    .dead = 8'000,
                    .allocated_by_torch = 8'000});
    EXPECT_EQ(parts.live, 1'000U);
    EXPECT_EQ(parts.dead, 8'000U);
    EXPECT_EQ(parts.torch_cache, 1'000U);
    EXPECT_EQ(sum_of_parts(parts), kCapacity);
}

TEST(BreakDown, DoesNotCountTorchsPartOfThePoolTwice) {
    const MemoryBreakdown parts = break_down(
        {.cuda = {0, 60'000, kCapacity},
         .torch = TorchMemory{.allocated = 4'000, .reserved = 10'000, .uses_cuda_pool = true},
         .reserved = {.pool_reserved = 13'000, .pool_used = 6'000}});
    EXPECT_EQ(parts.live, 4'000U);
    EXPECT_EQ(parts.torch_cache, 6'000U);
    EXPECT_EQ(parts.pool_used, 2'000U);
    EXPECT_EQ(parts.pool_cache, 1'000U);
    EXPECT_EQ(sum_of_parts(parts), kCapacity);
}

TEST(BreakDown, AddsUpToTheTotalIfTheSourcesContradictEachOther) {
    const MemoryBreakdown parts =
        break_down({.cuda = {0, 79'000, kCapacity},
                    .torch = TorchMemory{.allocated = 50'000, .reserved = 40'000},
                    .reserved = {.pool_reserved = 10, .pool_used = 20'000, .graphs = 90'000},
                    .dead = 20'000,
                    .freed_to_torch = 60'000});
    EXPECT_EQ(parts.dead, 20'000U);
    EXPECT_EQ(sum_of_parts(parts), kCapacity);
}

PyObject* torch_stats(PyObject*, PyObject*) {
    return Py_BuildValue("{s:{s:{s:i,s:i}},s:{s:{s:i}}}",
                         "allocated_bytes",
                         "all",
                         "current",
                         4096,
                         "peak",
                         6000,
                         "reserved_bytes",
                         "all",
                         "current",
                         8192);
}
PyObject* allocator_backend(PyObject*, PyObject*) {
    return PyUnicode_FromString("cudaMallocAsync");
}
PyMethodDef stats_definition{"_cuda_memoryStats", torch_stats, METH_O, nullptr};
PyMethodDef backend_definition{
    "_cuda_getAllocatorBackend", allocator_backend, METH_NOARGS, nullptr};

class DeviceRecords : public ::testing::Test {
  protected:
    DeviceRecords() { test::start_python(); }
    ~DeviceRecords() override {
        EXPECT_EQ(test::take_python_error(), "");
        PyObject* const modules = PyImport_GetModuleDict();
        if (PyDict_GetItemString(modules, "torch._C") != nullptr) {
            PyDict_DelItemString(modules, "torch._C");
        }
    }
    static void import_torch() {
        PyObject* const module = PyModule_New("torch._C");
        for (PyMethodDef* each : {&stats_definition, &backend_definition}) {
            PyModule_AddObject(module, each->ml_name, PyCFunction_New(each, nullptr));
        }
        PyDict_SetItemString(PyImport_GetModuleDict(), "torch._C", module);
        Py_DECREF(module);
    }
};

TEST_F(DeviceRecords, ReadTheMemoryOfTorch) {
    EXPECT_FALSE(torch_memory(0).has_value());
    import_torch();
    const TorchMemory memory = torch_memory(0).value();
    EXPECT_EQ(memory.allocated, 4096U);
    EXPECT_EQ(memory.reserved, 8192U);
    EXPECT_EQ(memory.peak, 6000U);
    EXPECT_TRUE(memory.uses_cuda_pool);
}

TEST_F(DeviceRecords, MeasureTheMemoryBeforeACollection) {
    const test::SimulatedDriver driver;
    driver.start();
    DeviceQueries queries;
    EXPECT_FALSE(measure_device(queries, 1, 10, nullptr).has_value())
        << "another device is current";
    const std::uint64_t total = std::uint64_t{1} << 30;
    const model::DeviceMemory sample{"cuda:0", 5'000, 1'000, total, model::MemorySource::cuda};
    const MemoryBreakdown parts = measure_device(queries, 0, 4'000, &sample).value();
    EXPECT_EQ(parts.dead, 4'000U);
    EXPECT_EQ(parts.other, 1'000U);
    EXPECT_EQ(parts.free, total - 5'000);
    EXPECT_EQ(describe_device(queries, 0)->device, "cuda:0");
    EXPECT_FALSE(describe_device(queries, 1).has_value());
}

}  // namespace
}  // namespace cyclewatch::device
