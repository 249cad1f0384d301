// SPDX-License-Identifier: Apache-2.0
#include "device/cuda_driver.h"

#include <gtest/gtest.h>

#include "cuda_simulation.h"

namespace cyclewatch::device {
namespace {

using simulated::Context;
using simulated::Faults;
using test::address_of;

class CudaDriverTest : public ::testing::Test {
  protected:
    CudaDriverTest() : driver(CudaDriver::find()) { EXPECT_NE(driver, nullptr); }
    ~CudaDriverTest() override { library.expect_unaffected(); }

    test::SimulatedDriver library;
    std::unique_ptr<CudaDriver> driver;
};

TEST_F(CudaDriverTest, DoesNotInitializeCuda) {
    EXPECT_EQ(driver->device_count(), std::nullopt);
    EXPECT_FALSE(driver->memory().has_value());
    EXPECT_FALSE(library.state().initialized);
    EXPECT_EQ(library.queries(), 0);
}

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
