// SPDX-License-Identifier: Apache-2.0
#include "cuda_simulation.h"
#include "device/cuda_runtime.h"
#include "device/device_memory.h"
#include "device/loaded_library.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

namespace cyclewatch::device {
namespace {

using simulated::Context;
using test::address_of;
using test::SimulatedDriver;
using test::SimulatedRuntime;

// A directory in place of /dev, with one device file or none.
class DeviceFiles {
  public:
    explicit DeviceFiles(const char* file = nullptr) {
        std::string pattern = ::testing::TempDir() + "/devices-XXXXXX";
        path_ = mkdtemp(pattern.data());
        if (file != nullptr) {
            std::ofstream(path_ / file) << "";
        }
    }
    ~DeviceFiles() { std::filesystem::remove_all(path_); }
    DeviceFiles(const DeviceFiles&) = delete;
    DeviceFiles& operator=(const DeviceFiles&) = delete;
    [[nodiscard]] std::string path() const { return path_.string(); }

  private:
    std::filesystem::path path_;
};

// Sends every query. Returns true if any of them was answered.
bool any_answer(DeviceQueries& queries) {
    const bool answers[] = {queries.current_device_memory().has_value(),
                            queries.pointer_facts(64).has_value(),
                            queries.allocation_at(64).has_value(),
                            queries.reserved_memory(0).has_value(),
                            queries.device_facts(0).has_value()};
    return std::ranges::find(answers, true) != std::end(answers);
}

TEST(CudaQueries, LoadNoLibrary) {
    const DeviceFiles files("nvidia0");
    const unsigned long long before = libraries_ever_loaded();
    DeviceQueries queries(files.path());
    EXPECT_FALSE(queries.accelerator_usable());
    EXPECT_FALSE(any_answer(queries));
    EXPECT_EQ(libraries_ever_loaded(), before);
    const SimulatedDriver driver;
    EXPECT_GT(libraries_ever_loaded(), before);
}

TEST(CudaQueries, UseDeviceFilesUntilCudaIsInitialized) {
    const SimulatedRuntime runtime;  // as after `import torch`; the driver is loaded later
    for (const auto& [file, usable] :
         {std::pair{"nvidia0", true}, {"nvidia3", true}, {"dxg", true}, {"nvidiactl", false}}) {
        const DeviceFiles files(file);
        EXPECT_EQ(DeviceQueries(files.path()).accelerator_usable(), usable) << file;
        const SimulatedDriver driver;
        EXPECT_EQ(DeviceQueries(files.path()).accelerator_usable(), usable) << file;
        EXPECT_FALSE(driver.state().initialized);
    }
}

TEST(CudaQueries, IgnoreDeviceFilesOfHiddenDevices) {
    const SimulatedDriver driver;
    const DeviceFiles files("nvidia0");
    for (const auto& [value, usable] : {std::pair{"", false},
                                        {"-1", false},
                                        {"0", true},
                                        {"MIG-5c89852c-d268-c3f3-1b07-005d5ae1dc3f", true}}) {
        setenv("CUDA_VISIBLE_DEVICES", value, 1);
        EXPECT_EQ(DeviceQueries(files.path()).accelerator_usable(), usable) << value;
    }
    unsetenv("CUDA_VISIBLE_DEVICES");
}

TEST(CudaQueries, UseTheDriversCountOnceCudaIsInitialized) {
    const SimulatedDriver driver;
    const DeviceFiles files("nvidia0");
    DeviceQueries queries(files.path());
    EXPECT_TRUE(queries.accelerator_usable());
    driver.state().initialized = true;
    for (const auto& [devices, usable] : {std::pair{0, false}, {1, true}, {0, true}}) {
        driver.state().faults.devices = devices;
        EXPECT_EQ(queries.accelerator_usable(), usable) << "a positive answer is final";
    }
}

TEST(CudaQueries, FindALibraryThatIsLoadedLater) {
    const DeviceFiles no_files;
    DeviceQueries queries(no_files.path());
    EXPECT_FALSE(queries.accelerator_usable());
    const SimulatedDriver driver;
    driver.start();
    EXPECT_TRUE(queries.accelerator_usable());
    EXPECT_TRUE(any_answer(queries));
}

TEST(CudaQueries, CallNothingInAForkedChild) {
    const SimulatedDriver driver;
    const SimulatedRuntime runtime;
    driver.start();
    DeviceQueries queries;
    ASSERT_TRUE(queries.accelerator_usable());
    ASSERT_TRUE(any_answer(queries));
    const std::pair before(driver.queries(), runtime.queries());
    const pid_t child = fork();
    if (child == 0) {
        const bool answered =
            queries.accelerator_usable() || any_answer(queries) || queries.pending_error() != 0;
        const bool called = std::pair(driver.queries(), runtime.queries()) != before;
        _exit(answered || called ? 1 : 0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST(CudaQueries, KeepTheLibrariesLoaded) {
    DeviceQueries queries;
    {
        const SimulatedDriver driver;
        const SimulatedRuntime runtime;
        driver.start();
        ASSERT_TRUE(any_answer(queries));
    }
    EXPECT_TRUE(any_answer(queries));
}

TEST(CudaQueries, DoNotCallARuntimeWithoutADriver) {
    const SimulatedRuntime first;
    const SimulatedRuntime second(CYCLEWATCH_SIMULATED_SECOND_CUDART);
    DeviceQueries queries;
    EXPECT_FALSE(any_answer(queries));
    EXPECT_EQ(queries.pending_error(), 0);
    EXPECT_EQ(queries.responder(), Responder::none);
    EXPECT_EQ(first.queries() + second.queries(), 0);
}

TEST(CudaQueries, DoNotCallTheRuntimeUntilTheThreadHasALiveContext) {
    const SimulatedDriver driver;
    const SimulatedRuntime runtime;
    DeviceQueries queries;
    EXPECT_FALSE(any_answer(queries)) << "CUDA is not initialized";
    EXPECT_FALSE(driver.state().initialized);
    driver.start();
    for (const Context context : {Context::none, Context::destroyed}) {
        driver.thread().context = context;
        EXPECT_FALSE(any_answer(queries));
        EXPECT_EQ(queries.responder(), Responder::none);
    }
    EXPECT_EQ(driver.queries(), 0);
    EXPECT_EQ(runtime.queries(), 0);
}

TEST(CudaQueries, AskTheDriverInAProgramWithoutRuntimeContexts) {
    const SimulatedDriver driver;
    const SimulatedRuntime runtime;
    driver.start_without_runtime();
    DeviceQueries queries;
    EXPECT_EQ(queries.responder(), Responder::driver);
    EXPECT_EQ(queries.current_device_memory()->total, 1U << 30);
    EXPECT_EQ(queries.device_facts(0)->name, simulated::kDeviceName);
    EXPECT_FALSE(queries.reserved_memory(0).has_value()) << "needs the primary context";
    EXPECT_FALSE(queries.device_facts(1).has_value()) << "the program has not used this device";
    EXPECT_EQ(runtime.queries(), 0);
    driver.expect_unaffected();
}

TEST(CudaQueries, AskTheRuntimeThatTorchUses) {
    const SimulatedDriver driver;
    driver.start();
    const SimulatedRuntime first;
    DeviceQueries queries;
    EXPECT_TRUE(any_answer(queries));
    const int before = first.queries();
    EXPECT_GT(before, 0);
    const test::SimulatedLibrary torch(CYCLEWATCH_SIMULATED_TORCH);
    const SimulatedRuntime second(CYCLEWATCH_SIMULATED_SECOND_CUDART);
    EXPECT_TRUE(any_answer(queries));
    EXPECT_EQ(first.queries(), before);
    EXPECT_GT(second.queries(), 0);
    first.expect_unaffected();
    second.expect_unaffected();
}

TEST(CudaQueries, LeaveTheErrorsOfTheOtherCopyAlone) {
    const SimulatedDriver driver;
    driver.start();
    const SimulatedRuntime first;
    const SimulatedRuntime second(CYCLEWATCH_SIMULATED_SECOND_CUDART);
    second.thread().last_error = cudaErrorInvalidValue;
    driver.state().faults.out_of_memory = true;
    DeviceQueries queries;
    EXPECT_FALSE(queries.current_device_memory().has_value());
    EXPECT_EQ(queries.pending_error(), 0);
    EXPECT_EQ(second.queries(), 0);
    first.expect_unaffected();
    second.expect_unaffected(cudaErrorInvalidValue);
}

// The queries with and without the runtime must have the same results.
class CudaAnswers : public ::testing::TestWithParam<bool> {
  protected:
    CudaAnswers() {
        if (GetParam()) {
            runtime.emplace();
        }
        library.start();
        EXPECT_EQ(queries.responder(), GetParam() ? Responder::runtime : Responder::driver);
    }
    ~CudaAnswers() override {
        library.expect_unaffected();
        if (runtime) {
            runtime->expect_unaffected(pending);
        }
    }

    test::SimulatedDriver library;
    std::optional<SimulatedRuntime> runtime;
    DeviceQueries queries;
    int pending = 0;  // the error expected to be pending at the end
};

INSTANTIATE_TEST_SUITE_P(Both, CudaAnswers, ::testing::Bool(), [](const auto& each) {
    return each.param ? "Runtime" : "Driver";
});

TEST_P(CudaAnswers, ClassifyMemory) {
    const int local = 0;
    void* const device = library.allocate(64);
    void* const host = library.allocate(64, CU_MEMORYTYPE_HOST);
    void* const managed = library.allocate(64, CU_MEMORYTYPE_HOST, true);
    const std::pair<std::uint64_t, MemoryKind> expected[] = {
        {address_of(device), MemoryKind::device},
        {address_of(device) + 63, MemoryKind::device},
        {address_of(host), MemoryKind::host},
        {address_of(managed), MemoryKind::device},
        {address_of(&local), MemoryKind::unregistered},
    };
    for (const auto& [address, kind] : expected) {
        EXPECT_EQ(queries.pointer_facts(address)->kind, kind);
    }
    EXPECT_EQ(queries.pointer_facts(address_of(device))->device, 0);
    for (void* memory : {device, host, managed}) {
        library.release(memory);
    }
    EXPECT_EQ(queries.pointer_facts(address_of(device))->kind, MemoryKind::unregistered);
}

TEST_P(CudaAnswers, FindTheAllocationOfAnAddress) {
    void* const memory = library.allocate(4096);
    const AddressRange range = queries.allocation_at(address_of(memory) + 100).value();
    EXPECT_EQ(range.start, address_of(memory));
    EXPECT_EQ(range.bytes, 4096U);
    library.release(memory);
    EXPECT_FALSE(queries.allocation_at(address_of(memory)).has_value());
}

TEST_P(CudaAnswers, ReportSizesIn64Bits) {
    void* const memory = library.allocate(4096);
    const FreeMemory free = queries.current_device_memory().value();
    EXPECT_EQ(free.total, 1U << 30);
    EXPECT_EQ(free.free, free.total - 4096);
    library.release(memory);
}

TEST_P(CudaAnswers, DescribeTheDevice) {
    const DeviceFacts facts = queries.device_facts(0).value();
    EXPECT_EQ(facts.name, simulated::kDeviceName);
    EXPECT_EQ(facts.uuid, "1f1f1f1f-1f1f-1f1f-1f1f-1f1f1f1f1f1f");
    EXPECT_EQ(facts.pci_id, simulated::kPciId);
    EXPECT_EQ(facts.total, 1U << 30);
    EXPECT_EQ(facts.driver_version, 13010);
    EXPECT_EQ(facts.runtime_version, GetParam() ? 13000 : 0);
    EXPECT_FALSE(queries.device_facts(1).has_value());
}

TEST_P(CudaAnswers, CountTheMemoryOfPoolsAndGraphs) {
    library.state().pool_reserved = 3000;
    library.state().pool_used = 2000;
    library.state().graphs_reserved = 1000;
    const ReservedMemory reserved = queries.reserved_memory(0).value();
    EXPECT_EQ(reserved.pool_reserved, 3000U);
    EXPECT_EQ(reserved.pool_used, 2000U);
    EXPECT_EQ(reserved.graphs, 1000U);
}

TEST_P(CudaAnswers, ReturnNothingOnErrors) {
    library.state().faults = {.device_lost = true};
    EXPECT_FALSE(queries.current_device_memory().has_value());
    EXPECT_FALSE(queries.pointer_facts(64).has_value());
    EXPECT_FALSE(queries.reserved_memory(0).has_value());
    library.state().faults = {.out_of_memory = true};
    EXPECT_FALSE(queries.current_device_memory().has_value());
}

TEST_P(CudaAnswers, DoNotBreakStreamCaptures) {
    for (const int mode : {0, 1, 2}) {
        library.state().faults.capture_mode = mode;
        EXPECT_TRUE(queries.current_device_memory().has_value()) << mode;
        EXPECT_TRUE(queries.pointer_facts(64).has_value()) << mode;
        EXPECT_TRUE(queries.reserved_memory(0).has_value()) << mode;
        EXPECT_TRUE(queries.device_facts(0).has_value()) << mode;
    }
    library.thread().capture_mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    library.state().faults.out_of_memory = true;
    EXPECT_FALSE(queries.current_device_memory().has_value());
    EXPECT_EQ(library.thread().capture_mode, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    library.thread().capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
}

TEST_P(CudaAnswers, KeepAPendingErrorOfTheProgram) {
    if (!runtime) {
        EXPECT_EQ(queries.pending_error(), 0) << "the driver has no last error";
        return;
    }
    pending = runtime->thread().last_error = cudaErrorInvalidValue;
    EXPECT_EQ(queries.pending_error(), cudaErrorInvalidValue);
    EXPECT_EQ(queries.responder(), Responder::driver);
    EXPECT_TRUE(queries.current_device_memory().has_value()) << "the driver answers";
    library.state().faults.out_of_memory = true;
    EXPECT_FALSE(queries.current_device_memory().has_value());
}

TEST_P(CudaAnswers, KeepAStickyError) {
    library.state().faults.sticky_error = CUDA_ERROR_ILLEGAL_ADDRESS;
    EXPECT_FALSE(any_answer(queries) && queries.current_device_memory().has_value());
    pending = cudaErrorIllegalAddress;  // cudaGetLastError() does not remove it
    EXPECT_EQ(queries.pending_error(), GetParam() ? pending : 0);
}

class CudaRuntimeAnswers : public ::testing::Test {
  protected:
    CudaRuntimeAnswers() { library.start(); }
    ~CudaRuntimeAnswers() override {
        library.expect_unaffected();
        runtime.expect_unaffected();
    }

    test::SimulatedDriver library;
    SimulatedRuntime runtime;
    DeviceQueries queries;
};

TEST_F(CudaRuntimeAnswers, ReadTheStructuresOfAllVersions) {
    void* const memory = library.allocate(64);
    for (const int bytes : {24, 88, 256}) {
        runtime.state().faults.attribute_bytes = bytes;
        EXPECT_EQ(queries.pointer_facts(address_of(memory))->kind, MemoryKind::device) << bytes;
    }
    for (const int bytes : {728, 1008, 1032, 4096}) {
        runtime.state().faults.property_bytes = bytes;
        EXPECT_EQ(queries.device_facts(0)->total, 1U << 30) << bytes;
    }
    library.release(memory);
}

TEST_F(CudaRuntimeAnswers, IgnoreStructuresLargerThanAnyKnownVersion) {
    runtime.state().faults.attribute_bytes = 264;
    EXPECT_FALSE(queries.pointer_facts(64).has_value());
    runtime.state().faults.property_bytes = 4104;
    EXPECT_FALSE(queries.device_facts(0).has_value());
}

TEST_F(CudaRuntimeAnswers, AreMissingIfTheDriverIsTooOld) {
    runtime.state().faults.driver_too_old = true;
    EXPECT_EQ(queries.pending_error(), cudaErrorInsufficientDriver);
    EXPECT_TRUE(queries.current_device_memory().has_value()) << "the driver answers";
    runtime.thread().last_error = 0;  // set by the simulation, as by the real runtime
}

TEST(RuntimeErrors, HaveNames) {
    EXPECT_EQ(runtime_error_name(700), "cudaErrorIllegalAddress");
    EXPECT_EQ(runtime_error_name(719), "cudaErrorLaunchFailure");
    EXPECT_EQ(runtime_error_name(35), "cudaErrorInsufficientDriver");
    EXPECT_EQ(runtime_error_name(123456), "");
    EXPECT_TRUE(is_device_lost(700));
    EXPECT_FALSE(is_device_lost(2));
}

}  // namespace
}  // namespace cyclewatch::device
