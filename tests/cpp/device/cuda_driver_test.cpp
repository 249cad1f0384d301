// SPDX-License-Identifier: Apache-2.0
// Questions to a driver without a runtime, as Numba and statically linked runtimes leave it.
#include "device/cuda_driver.h"

#include <gtest/gtest.h>

#include "cuda_simulation.h"

namespace cyclewatch::device {
namespace {

using simulated::Context;
using test::address_of;

class CudaDriverTest : public ::testing::Test {
  protected:
    static CudaDriver found() {
        std::optional<CudaDriver> driver = CudaDriver::find();
        EXPECT_TRUE(driver.has_value());
        return std::move(driver).value();
    }

    test::SimulatedDriver library;
};

TEST_F(CudaDriverTest, SeesNoContextBeforeTheProgramMadeOne) {
    const CudaDriver driver = found();
    EXPECT_FALSE(driver.context().current);
    EXPECT_EQ(driver.device_count(), std::nullopt);
    EXPECT_FALSE(library.state().initialised);
    EXPECT_EQ(library.questions(), 0);
}

TEST_F(CudaDriverTest, TellsContextsApart) {
    const CudaDriver driver = found();
    library.start();
    EXPECT_TRUE(driver.context().current);
    EXPECT_TRUE(driver.context().primary_active);

    library.state().primary_active = false;
    library.thread().context = Context::other;
    EXPECT_TRUE(driver.context().current);
    EXPECT_FALSE(driver.context().primary_active);

    library.state().primary_active = true;
    library.thread().context = Context::destroyed;
    EXPECT_FALSE(driver.context().current);

    library.thread().context = Context::none;
    EXPECT_FALSE(driver.context().current);
}

TEST_F(CudaDriverTest, TellsTheKindsOfMemoryApart) {
    const CudaDriver driver = found();
    library.start();
    void* device = library.allocate(64);
    void* host = library.allocate(64, CU_MEMORYTYPE_HOST);
    void* managed = library.allocate(64, CU_MEMORYTYPE_DEVICE, true);
    const int local = 0;
    EXPECT_EQ(driver.pointer_facts(address_of(device) + 63)->kind, MemoryKind::device);
    EXPECT_EQ(driver.pointer_facts(address_of(device))->device, 0);
    EXPECT_EQ(driver.pointer_facts(address_of(host))->kind, MemoryKind::host);
    EXPECT_EQ(driver.pointer_facts(address_of(managed))->kind, MemoryKind::managed);
    EXPECT_EQ(driver.pointer_facts(address_of(&local))->kind, MemoryKind::unregistered);
    for (void* memory : {device, host, managed}) {
        library.release(memory);
    }
    library.expect_undisturbed();
}

TEST_F(CudaDriverTest, CountsFreeBytesIn64Bits) {
    const CudaDriver driver = found();
    library.start();
    void* memory = library.allocate(4096);
    const FreeMemory answer = driver.memory(0).value();
    EXPECT_EQ(answer.total, 1U << 30);
    EXPECT_EQ(answer.free, answer.total - 4096);
    library.release(memory);
    library.expect_undisturbed();
}

TEST_F(CudaDriverTest, AnswersNothingOfALostDevice) {
    const CudaDriver driver = found();
    library.start();
    library.state().faults.device_lost = true;
    EXPECT_FALSE(driver.memory(0).has_value());
    EXPECT_FALSE(driver.pointer_facts(64).has_value());
    library.state().faults = {.out_of_memory = true};
    EXPECT_FALSE(driver.memory(0).has_value());
    library.expect_undisturbed();
}

TEST_F(CudaDriverTest, BreaksNoCapture) {
    const CudaDriver driver = found();
    library.start();
    for (const int mode : {0, 1, 2}) {
        library.state().faults.capture_mode = mode;
        EXPECT_TRUE(driver.memory(0).has_value()) << mode;
        EXPECT_TRUE(driver.pointer_facts(64).has_value()) << mode;
    }
    library.expect_undisturbed();
}

}  // namespace
}  // namespace cyclewatch::device
