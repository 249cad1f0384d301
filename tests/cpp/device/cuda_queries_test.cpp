// SPDX-License-Identifier: Apache-2.0
#include "cuda_simulation.h"
#include "device/cuda_driver.h"
#include "device/device_memory.h"
#include "device/loaded_library.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <filesystem>
#include <fstream>

namespace cyclewatch::device {
namespace {

using simulated::Context;
using simulated::Faults;
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

class CudaDriverTest : public ::testing::Test {
  protected:
    CudaDriverTest() : driver(CudaDriver::find()) { EXPECT_NE(driver, nullptr); }
    ~CudaDriverTest() override { library.expect_unaffected(); }

    test::SimulatedDriver library;
    std::unique_ptr<CudaDriver> driver;
};

TEST_F(CudaDriverTest, SendsNoQueryWithoutLiveContext) {
    library.start();
    for (const Context context : {Context::none, Context::destroyed}) {
        library.thread().context = context;
        EXPECT_FALSE(driver->memory().has_value());
        EXPECT_FALSE(driver->pointer_facts(64).has_value());
    }
    EXPECT_EQ(library.queries(), 0);
}

TEST_F(CudaDriverTest, ClassifiesMemory) {
    library.start();
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
        EXPECT_EQ(driver->pointer_facts(address)->kind, kind);
        EXPECT_EQ(driver->pointer_facts(address)->device, 0);
    }
    for (void* memory : {device, host, managed}) {
        library.release(memory);
    }
    EXPECT_EQ(driver->pointer_facts(address_of(device))->kind, MemoryKind::unregistered);
}

TEST_F(CudaDriverTest, ReportsSizesIn64Bits) {
    library.start();
    void* const memory = library.allocate(4096);
    const FreeMemory free = driver->memory().value();
    EXPECT_EQ(free.total, 1U << 30);
    EXPECT_EQ(free.free, free.total - 4096);
    library.release(memory);
}

TEST_F(CudaDriverTest, ReturnsNothingOnErrors) {
    library.start();
    for (const Faults& faults :
         {Faults{.device_lost = true}, Faults{.sticky_error = CUDA_ERROR_ILLEGAL_ADDRESS}}) {
        library.state().faults = faults;
        EXPECT_FALSE(driver->memory().has_value());
        EXPECT_FALSE(driver->pointer_facts(64).has_value());
    }
    library.state().faults = {.out_of_memory = true};
    EXPECT_FALSE(driver->memory().has_value());
}

TEST_F(CudaDriverTest, DoesNotBreakStreamCaptures) {
    library.start();
    for (const int mode : {0, 1, 2}) {
        library.state().faults.capture_mode = mode;
        EXPECT_TRUE(driver->memory().has_value()) << mode;
        EXPECT_TRUE(driver->pointer_facts(64).has_value()) << mode;
    }
    library.thread().capture_mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    library.state().faults.out_of_memory = true;
    EXPECT_FALSE(driver->memory().has_value());
    EXPECT_EQ(library.thread().capture_mode, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    library.thread().capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
}

}  // namespace
}  // namespace cyclewatch::device
