// SPDX-License-Identifier: Apache-2.0
#include "device/memory_sampler.h"
#include "support/embedded_python.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace cyclewatch::device {
namespace {

using model::DeviceMemory;
using model::MemorySource;

constexpr std::uint64_t kTotal = 80'000;

// The result of the fake CUDA query, and the number of times it was called.
std::optional<FreeMemory> cuda_result;
int cuda_calls = 0;
// The result of the fake torch function, as Python source.
std::string torch_result;
int torch_calls = 0;

std::optional<FreeMemory> query_cuda() noexcept {
    ++cuda_calls;
    return cuda_result;
}

PyObject* memory_stats(PyObject*, PyObject* device) {
    ++torch_calls;
    EXPECT_TRUE(PyLong_CheckExact(device));
    PyObject* names = PyDict_New();
    PyObject* answer = PyRun_String(torch_result.c_str(), Py_eval_input, names, names);
    Py_DECREF(names);
    return answer;
}

PyMethodDef memory_stats_definition{"_cuda_memoryStats", memory_stats, METH_O, nullptr};

std::string stats_of(std::uint64_t allocated) {
    return "{'allocated_bytes': {'all': {'current': " + std::to_string(allocated) + "}}}";
}

class MemorySamplerTest : public ::testing::Test {
  protected:
    MemorySamplerTest() {
        test::start_python();
        cuda_result.reset();
        cuda_calls = torch_calls = 0;
    }
    ~MemorySamplerTest() override {
        EXPECT_EQ(test::take_python_error(), "");
        PyObject* const modules = PyImport_GetModuleDict();
        if (PyDict_GetItemString(modules, "torch._C") != nullptr) {
            PyDict_DelItemString(modules, "torch._C");
        }
    }

    // Adds a fake torch._C to sys.modules. Steals the reference to `function`.
    static void import_torch(PyObject* function) {
        PyObject* const module = PyModule_New("torch._C");
        PyModule_AddObject(module, "_cuda_memoryStats", function);
        PyDict_SetItemString(PyImport_GetModuleDict(), "torch._C", module);
        Py_DECREF(module);
    }
    static void import_torch() { import_torch(PyCFunction_New(&memory_stats_definition, nullptr)); }

    [[nodiscard]] std::vector<DeviceMemory> before(const std::vector<std::string>& devices) {
        std::vector<model::Storage> storages;
        for (const std::string& device : devices) {
            storages.push_back({device, 8, true});
        }
        return sampler.before(storages);
    }

    MemorySampler sampler{&query_cuda};
};

TEST_F(MemorySamplerTest, SamplesTheResidentSetForTheCpu) {
    const auto small = before({"cpu"});
    std::vector<char> memory(64U << 20U, 'x');
    const auto large = before({"cpu"});
    ASSERT_EQ(small.size(), 1U);
    ASSERT_EQ(large.size(), 1U);
    EXPECT_EQ(large[0].source, MemorySource::process);
    EXPECT_GT(large[0].used_before, small[0].used_before + (memory.size() / 2));
    EXPECT_GT(large[0].total, large[0].used_before);
}

TEST_F(MemorySamplerTest, SamplesEachDeviceOnce) {
    cuda_result = FreeMemory{0, 30'000, kTotal};
    EXPECT_EQ(before({"cuda:0", "cpu", "cuda:0", "cpu"}).size(), 2U);
    EXPECT_EQ(cuda_calls, 1);
    cuda_result.reset();
    EXPECT_TRUE(before({"cuda:0", "cuda:1", "cuda:0", "cuda:1"}).empty());
    EXPECT_EQ(cuda_calls, 3);
}

TEST_F(MemorySamplerTest, IgnoresOtherDevices) {
    cuda_result = FreeMemory{0, 30'000, kTotal};
    EXPECT_TRUE(before({"", "cuda", "cuda:", "cuda:x", "cuda:-1", "cuda:0x", "xpu:0"}).empty());
    EXPECT_EQ(cuda_calls, 0);
}

TEST_F(MemorySamplerTest, UsesCudaWithoutTorch) {
    cuda_result = FreeMemory{1, 30'000, kTotal};
    EXPECT_TRUE(before({"cuda:0"}).empty()) << "another device is current";
    auto samples = before({"cuda:1"});
    const DeviceMemory expected{"cuda:1", 50'000, 0, kTotal, MemorySource::cuda};
    ASSERT_EQ(samples, std::vector{expected});
    cuda_result->free = 70'000;
    sampler.after(samples);
    ASSERT_EQ(samples.size(), 1U);
    EXPECT_EQ(samples[0].used_after, 10'000U);
}

TEST_F(MemorySamplerTest, UsesTorchAndQueriesTheTotalOnce) {
    import_torch();
    torch_result = stats_of(4096);
    EXPECT_EQ(before({"cuda:0"})[0].total, 0U) << "unknown until CUDA answers";
    cuda_result = FreeMemory{0, 30'000, kTotal};
    auto samples = before({"cuda:0"});
    const DeviceMemory expected{"cuda:0", 4096, 0, kTotal, MemorySource::torch};
    ASSERT_EQ(samples, std::vector{expected});
    const int calls = cuda_calls;
    torch_result = stats_of(1024);
    sampler.after(samples);
    EXPECT_EQ(samples[0].used_after, 1024U);
    EXPECT_EQ(cuda_calls, calls);
}

TEST_F(MemorySamplerTest, FallsBackToCudaIfTorchFails) {
    import_torch();
    cuda_result = FreeMemory{0, 30'000, kTotal};
    for (const char* answer : {"1 / 0",
                               "None",
                               "{}",
                               "{'allocated_bytes': 7}",
                               "{'allocated_bytes': {'all': {'current': -1}}}",
                               "{'allocated_bytes': {'all': {'current': 'many'}}}"}) {
        torch_result = answer;
        const auto samples = before({"cuda:0"});
        ASSERT_EQ(samples.size(), 1U) << answer;
        EXPECT_EQ(samples[0].source, MemorySource::cuda) << answer;
        EXPECT_EQ(PyErr_Occurred(), nullptr) << answer;
    }
}

TEST_F(MemorySamplerTest, CallsNoPythonFunction) {
    test::PythonScript script("calls = []\ndef stats(device):\n    calls.append(device)\n");
    PyObject* const function = script["stats"];
    Py_INCREF(function);
    import_torch(function);
    EXPECT_TRUE(before({"cuda:0"}).empty());
    EXPECT_EQ(PyList_Size(script["calls"]), 0);
}

TEST_F(MemorySamplerTest, DropsASampleIfItsSourceChanged) {
    import_torch();
    cuda_result = FreeMemory{0, 30'000, kTotal};
    torch_result = stats_of(4096);
    auto samples = before({"cuda:0", "cpu"});
    ASSERT_EQ(samples.size(), 2U);
    torch_result = "1 / 0";
    sampler.after(samples);
    ASSERT_EQ(samples.size(), 1U);
    EXPECT_EQ(samples[0].device, "cpu");
    EXPECT_GT(samples[0].used_after, 0U);
}

TEST_F(MemorySamplerTest, QueriesNoDeviceInAForkedChild) {
    import_torch();
    torch_result = stats_of(4096);
    cuda_result = FreeMemory{0, 30'000, kTotal};
    const pid_t child = fork();
    if (child == 0) {
        const auto samples = before({"cuda:0", "cpu"});
        const bool right = samples.size() == 1 && samples[0].device == "cpu" && torch_calls == 0 &&
                           cuda_calls == 0;
        _exit(right ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace cyclewatch::device
