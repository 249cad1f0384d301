// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "cuda_simulation.h"
#include "device/device_memory.h"
#include "device/loaded_library.h"

namespace cyclewatch::device {
namespace {

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

bool any_answer(DeviceQueries& queries) {
    const bool memory = queries.current_device_memory().has_value();
    return queries.pointer_facts(64).has_value() || memory;
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

TEST(CudaQueries, NeverCallTheRuntime) {
    const DeviceFiles no_files;
    const SimulatedRuntime runtime;
    DeviceQueries queries(no_files.path());
    EXPECT_FALSE(queries.accelerator_usable());
    EXPECT_FALSE(any_answer(queries));
    const SimulatedDriver driver;
    driver.start();
    EXPECT_TRUE(queries.accelerator_usable());
    EXPECT_TRUE(any_answer(queries));
    EXPECT_EQ(runtime.queries(), 0);
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
    driver.start();
    DeviceQueries queries;
    ASSERT_TRUE(queries.accelerator_usable());
    ASSERT_TRUE(any_answer(queries));
    const int before = driver.queries();
    const pid_t child = fork();
    if (child == 0) {
        const bool answered = queries.accelerator_usable() || any_answer(queries);
        _exit(answered || driver.queries() != before ? 1 : 0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST(CudaQueries, KeepTheDriverLoaded) {
    DeviceQueries queries;
    {
        const SimulatedDriver driver;
        driver.start();
        ASSERT_TRUE(any_answer(queries));
    }
    EXPECT_TRUE(any_answer(queries));
}

}  // namespace
}  // namespace cyclewatch::device
