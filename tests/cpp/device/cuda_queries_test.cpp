// SPDX-License-Identifier: Apache-2.0
// Which library is asked, when none is, and what stands in before CUDA is initialised.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "cuda_simulation.h"
#include "device/device_memory.h"
#include "device/loaded_library.h"

namespace cyclewatch::device {
namespace {

using simulated::Context;
using test::SimulatedDriver;
using test::SimulatedRuntime;

// A folder that shows device files as /dev does on a machine with a device.
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

TEST(CudaQueries, FindNothingWhereNothingIsLoaded) {
    const DeviceFiles files("nvidia0");
    DeviceQueries queries(files.path());
    EXPECT_FALSE(queries.accelerator_usable());
    EXPECT_FALSE(queries.current_device_memory().has_value());
    EXPECT_FALSE(queries.pointer_facts(64).has_value());
}

TEST(CudaQueries, LoadNoLibrary) {
    const unsigned long long before = libraries_ever_loaded();
    DeviceQueries queries;
    EXPECT_FALSE(queries.accelerator_usable());
    EXPECT_EQ(libraries_ever_loaded(), before);
    const SimulatedDriver driver;
    EXPECT_GT(libraries_ever_loaded(), before);
}

TEST(CudaQueries, AskNoRuntimeThatHasNoDriver) {
    const DeviceFiles no_files;
    const SimulatedRuntime runtime;
    DeviceQueries queries(no_files.path());
    EXPECT_FALSE(queries.accelerator_usable());
    EXPECT_FALSE(queries.current_device_memory().has_value());
    EXPECT_FALSE(queries.pointer_facts(64).has_value());
    runtime.expect_undisturbed();
    EXPECT_EQ(runtime.questions(), 0);
}

TEST(CudaQueries, BelieveDeviceFilesUntilCudaIsInitialised) {
    const SimulatedDriver driver;
    const SimulatedRuntime runtime;
    for (const char* file : {"nvidia0", "nvidia3", "dxg"}) {
        const DeviceFiles files(file);
        EXPECT_TRUE(DeviceQueries(files.path()).accelerator_usable()) << file;
    }
    const DeviceFiles files("nvidiactl");
    EXPECT_FALSE(DeviceQueries(files.path()).accelerator_usable());
    EXPECT_FALSE(driver.state().initialised);
    runtime.expect_undisturbed();
}

TEST(CudaQueries, SeeNoDeviceThatIsHidden) {
    const SimulatedDriver driver;
    const DeviceFiles files("nvidia0");
    for (const auto& [value, usable] : {std::pair{"", false}, {"-1", false}, {"0", true}}) {
        setenv("CUDA_VISIBLE_DEVICES", value, 1);
        EXPECT_EQ(DeviceQueries(files.path()).accelerator_usable(), usable) << value;
    }
    unsetenv("CUDA_VISIBLE_DEVICES");
}

TEST(CudaQueries, SeeThePartsOfADividedDevice) {
    const SimulatedDriver driver;
    const SimulatedRuntime runtime;
    const DeviceFiles files("nvidia0");
    // Before CUDA is initialised a part is named by its id.
    setenv("CUDA_VISIBLE_DEVICES", "MIG-5c89852c-d268-c3f3-1b07-005d5ae1dc3f", 1);
    EXPECT_TRUE(DeviceQueries(files.path()).accelerator_usable());
    unsetenv("CUDA_VISIBLE_DEVICES");
    // After that a process sees one part, or all seven, or none of an empty device.
    driver.start();
    for (const int parts : {1, 7}) {
        driver.state().faults.devices = parts;
        DeviceQueries queries(files.path());
        EXPECT_TRUE(queries.accelerator_usable()) << parts;
        EXPECT_EQ(queries.current_device_memory()->device, 0) << parts;
    }
    driver.state().faults.devices = 0;
    EXPECT_FALSE(DeviceQueries(files.path()).accelerator_usable());
    runtime.expect_undisturbed();
}

TEST(CudaQueries, BelieveTheDriverOnceCudaIsInitialised) {
    const SimulatedDriver driver;
    const DeviceFiles files("nvidia0");
    DeviceQueries queries(files.path());
    EXPECT_TRUE(queries.accelerator_usable());
    driver.state().initialised = true;
    driver.state().faults.devices = 0;
    EXPECT_FALSE(queries.accelerator_usable());
    driver.state().faults.devices = 1;
    EXPECT_TRUE(queries.accelerator_usable());
    driver.state().faults.devices = 0;
    EXPECT_TRUE(queries.accelerator_usable()) << "a yes is final";
}

TEST(CudaQueries, FindALibraryThatIsLoadedLater) {
    const DeviceFiles no_files;
    DeviceQueries queries(no_files.path());
    EXPECT_FALSE(queries.accelerator_usable());
    const SimulatedDriver driver;
    driver.start();
    EXPECT_TRUE(queries.accelerator_usable());
    EXPECT_TRUE(queries.current_device_memory().has_value());
}

TEST(CudaQueries, AskTheRuntimeInItsOwnContext) {
    const SimulatedDriver driver;
    const SimulatedRuntime runtime;
    driver.start();
    DeviceQueries queries;
    EXPECT_TRUE(queries.current_device_memory().has_value());
    EXPECT_TRUE(queries.pointer_facts(64).has_value());
    EXPECT_EQ(runtime.questions(), 2);
    runtime.expect_undisturbed();
    driver.expect_undisturbed();
}

TEST(CudaQueries, AskOneOfTwoRuntimesAndLeaveTheOtherAlone) {
    const SimulatedDriver driver;
    const SimulatedRuntime first;
    const SimulatedRuntime second(CYCLEWATCH_SIMULATED_SECOND_CUDART);
    driver.start();
    // What the program has pending in the one that is not asked is none of our business.
    second.thread().last_error = cudaErrorIllegalAddress;
    DeviceQueries queries;
    EXPECT_TRUE(queries.current_device_memory().has_value());
    EXPECT_TRUE(queries.pointer_facts(64).has_value());
    EXPECT_EQ(first.questions(), 2);
    EXPECT_EQ(second.questions(), 0);
    first.expect_undisturbed();
    second.expect_undisturbed(cudaErrorIllegalAddress);
    // And where the one that is asked has something pending, neither is asked.
    second.thread().last_error = cudaSuccess;
    first.thread().last_error = cudaErrorIllegalAddress;
    EXPECT_FALSE(queries.current_device_memory().has_value());
    EXPECT_EQ(first.questions() + second.questions(), 2);
    first.expect_undisturbed(cudaErrorIllegalAddress);
    second.expect_undisturbed();
}

TEST(CudaQueries, AskNothingOfADriverThatCannotLookWithoutHarm) {
    const test::SimulatedLibrary driver(CYCLEWATCH_SIMULATED_OLD_DRIVER);
    const SimulatedRuntime runtime;
    const DeviceFiles files("nvidia0");
    DeviceQueries queries(files.path());
    EXPECT_TRUE(queries.accelerator_usable()) << "the system's files say so";
    EXPECT_FALSE(queries.current_device_memory().has_value());
    EXPECT_FALSE(queries.pointer_facts(64).has_value());
    EXPECT_EQ(driver.function<int()>("cyclewatch_simulated_old_driver_calls")(), 0);
    EXPECT_EQ(runtime.questions(), 0);
    runtime.expect_undisturbed();
}

TEST(CudaQueries, LeaveAStickyErrorPendingWhoeverIsAsked) {
    const SimulatedDriver driver;
    const SimulatedRuntime runtime;
    driver.start();
    driver.state().faults.sticky_error = CUDA_ERROR_ILLEGAL_ADDRESS;
    runtime.thread().last_error = cudaErrorIllegalAddress;
    DeviceQueries queries;
    EXPECT_FALSE(queries.current_device_memory().has_value());
    EXPECT_FALSE(queries.pointer_facts(64).has_value());
    EXPECT_TRUE(queries.accelerator_usable()) << "the driver knows without asking the device";
    runtime.expect_undisturbed(cudaErrorIllegalAddress);
    driver.expect_undisturbed();
}

TEST(CudaQueries, AskTheDriverInAnyOtherContext) {
    const SimulatedDriver driver;
    const SimulatedRuntime runtime;
    driver.state().initialised = true;
    driver.thread().context = Context::other;
    DeviceQueries queries;
    EXPECT_TRUE(queries.current_device_memory().has_value());
    EXPECT_TRUE(queries.pointer_facts(64).has_value());
    EXPECT_EQ(runtime.questions(), 0);
    EXPECT_GT(driver.questions(), 0);
    runtime.expect_undisturbed();
}

TEST(CudaQueries, AskNobodyWithoutALiveContext) {
    const SimulatedDriver driver;
    const SimulatedRuntime runtime;
    driver.start();
    DeviceQueries queries;
    for (const Context context : {Context::none, Context::destroyed}) {
        driver.thread().context = context;
        driver.state().primary_active = false;
        EXPECT_FALSE(queries.current_device_memory().has_value());
        EXPECT_FALSE(queries.pointer_facts(64).has_value());
    }
    EXPECT_EQ(driver.questions(), 0);
    EXPECT_EQ(runtime.questions(), 0);
    runtime.expect_undisturbed();
}

TEST(CudaQueries, AskNobodyInAForkedChild) {
    const SimulatedDriver driver;
    const SimulatedRuntime runtime;
    driver.start();
    DeviceQueries queries;
    ASSERT_TRUE(queries.accelerator_usable());
    ASSERT_TRUE(queries.current_device_memory().has_value());
    const int before = driver.questions();
    const pid_t child = fork();
    if (child == 0) {
        const bool answered = queries.accelerator_usable() ||
                              queries.current_device_memory().has_value() ||
                              queries.pointer_facts(64).has_value();
        _exit(answered || driver.questions() != before ? 1 : 0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(queries.accelerator_usable());
}

TEST(CudaQueries, KeepTheLibraryThatTheyFound) {
    DeviceQueries queries;
    {
        const SimulatedDriver driver;
        driver.start();
        ASSERT_TRUE(queries.current_device_memory().has_value());
    }
    EXPECT_TRUE(queries.current_device_memory().has_value());
}

}  // namespace
}  // namespace cyclewatch::device
