// SPDX-License-Identifier: Apache-2.0
// Who is asked for a device's memory, what torch is asked, and what is made of odd answers.
#include "device/memory_sampler.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "support/embedded_python.h"

namespace cyclewatch::device {
namespace {

using model::DeviceMemory;
using model::MemorySource;

constexpr std::uint64_t kTotal = 80'000;

// What the stand-in for CUDA says, and how often it was asked.
std::optional<FreeMemory> cuda_says;
int cuda_asked = 0;
// What the stand-in for torch says: its C function's answer as Python source, or nothing: raise.
std::string torch_says;
int torch_asked = 0;

std::optional<FreeMemory> ask_cuda() noexcept {
    ++cuda_asked;
    return cuda_says;
}

PyObject* memory_stats(PyObject*, PyObject* device) {
    ++torch_asked;
    EXPECT_TRUE(PyLong_CheckExact(device));
    PyObject* names = PyDict_New();
    PyObject* answer = PyRun_String(torch_says.c_str(), Py_eval_input, names, names);
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
        cuda_says.reset();
        cuda_asked = torch_asked = 0;
    }
    ~MemorySamplerTest() override {
        EXPECT_EQ(test::take_python_error(), "");
        PyObject* const modules = PyImport_GetModuleDict();
        if (PyDict_GetItemString(modules, "torch._C") != nullptr) {
            PyDict_DelItemString(modules, "torch._C");
        }
    }

    // As after the program imported torch. Takes over the reference to `function`.
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

    MemorySampler sampler{&ask_cuda};
};

TEST_F(MemorySamplerTest, TellsTheResidentSetOfTheProcessForTheCpu) {
    const auto small = before({"cpu"});
    std::vector<char> memory(64U << 20U, 'x');
    const auto large = before({"cpu"});
    ASSERT_EQ(small.size(), 1U);
    ASSERT_EQ(large.size(), 1U);
    EXPECT_EQ(large[0].source, MemorySource::process);
    EXPECT_GT(large[0].used_before, small[0].used_before + (memory.size() / 2));
    EXPECT_GT(large[0].total, large[0].used_before);
}

TEST_F(MemorySamplerTest, AsksOncePerDevice) {
    cuda_says = FreeMemory{0, 30'000, kTotal};
    EXPECT_EQ(before({"cuda:0", "cpu", "cuda:0", "cpu"}).size(), 2U);
    EXPECT_EQ(cuda_asked, 1);
    cuda_says.reset();
    EXPECT_TRUE(before({"cuda:0", "cuda:1", "cuda:0", "cuda:1"}).empty());
    EXPECT_EQ(cuda_asked, 3);
}

TEST_F(MemorySamplerTest, KnowsNoOtherDevices) {
    cuda_says = FreeMemory{0, 30'000, kTotal};
    EXPECT_TRUE(before({"", "cuda", "cuda:", "cuda:x", "cuda:-1", "cuda:0x", "xpu:0"}).empty());
    EXPECT_EQ(cuda_asked, 0);
}

TEST_F(MemorySamplerTest, BelievesCudaWhereTorchIsNotThere) {
    cuda_says = FreeMemory{1, 30'000, kTotal};
    EXPECT_TRUE(before({"cuda:0"}).empty()) << "another device is current";
    auto samples = before({"cuda:1"});
    const DeviceMemory expected{"cuda:1", 50'000, 0, kTotal, MemorySource::cuda};
    ASSERT_EQ(samples, std::vector{expected});
    cuda_says->free = 70'000;
    sampler.after(samples);
    ASSERT_EQ(samples.size(), 1U);
    EXPECT_EQ(samples[0].used_after, 10'000U);
}

TEST_F(MemorySamplerTest, BelievesTorchAndAsksForTheSizeOnce) {
    import_torch();
    torch_says = stats_of(4096);
    EXPECT_EQ(before({"cuda:0"})[0].total, 0U) << "nobody knows it yet";
    cuda_says = FreeMemory{0, 30'000, kTotal};
    auto samples = before({"cuda:0"});
    const DeviceMemory expected{"cuda:0", 4096, 0, kTotal, MemorySource::torch};
    ASSERT_EQ(samples, std::vector{expected});
    const int asked = cuda_asked;
    torch_says = stats_of(1024);
    sampler.after(samples);
    EXPECT_EQ(samples[0].used_after, 1024U);
    EXPECT_EQ(cuda_asked, asked);
}

TEST_F(MemorySamplerTest, FallsBackToCudaWhereTorchHasNoAnswer) {
    import_torch();
    cuda_says = FreeMemory{0, 30'000, kTotal};
    for (const char* answer : {"1 / 0",
                               "None",
                               "{}",
                               "{'allocated_bytes': 7}",
                               "{'allocated_bytes': {'all': {'current': -1}}}",
                               "{'allocated_bytes': {'all': {'current': 'many'}}}"}) {
        torch_says = answer;
        const auto samples = before({"cuda:0"});
        ASSERT_EQ(samples.size(), 1U) << answer;
        EXPECT_EQ(samples[0].source, MemorySource::cuda) << answer;
        EXPECT_EQ(PyErr_Occurred(), nullptr) << answer;
    }
}

TEST_F(MemorySamplerTest, CallsNoFunctionThatIsWrittenInPython) {
    test::PythonScript script("calls = []\ndef stats(device):\n    calls.append(device)\n");
    PyObject* const function = script["stats"];
    Py_INCREF(function);
    import_torch(function);
    EXPECT_TRUE(before({"cuda:0"}).empty());
    EXPECT_EQ(PyList_Size(script["calls"]), 0);
}

TEST_F(MemorySamplerTest, DropsASampleWhoseSourceChanged) {
    import_torch();
    cuda_says = FreeMemory{0, 30'000, kTotal};
    torch_says = stats_of(4096);
    auto samples = before({"cuda:0", "cpu"});
    ASSERT_EQ(samples.size(), 2U);
    torch_says = "1 / 0";
    sampler.after(samples);
    ASSERT_EQ(samples.size(), 1U);
    EXPECT_EQ(samples[0].device, "cpu");
    EXPECT_GT(samples[0].used_after, 0U);
}

TEST_F(MemorySamplerTest, AsksNobodyForADeviceInAForkedChild) {
    import_torch();
    torch_says = stats_of(4096);
    cuda_says = FreeMemory{0, 30'000, kTotal};
    const pid_t child = fork();
    if (child == 0) {
        const auto samples = before({"cuda:0", "cpu"});
        const bool right = samples.size() == 1 && samples[0].device == "cpu" && torch_asked == 0 &&
                           cuda_asked == 0;
        _exit(right ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace cyclewatch::device
