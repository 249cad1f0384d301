// SPDX-License-Identifier: Apache-2.0
// Questions to a loaded runtime: what they answer, and that nothing of them is left behind.
#include "device/cuda_runtime.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "cuda_simulation.h"

namespace cyclewatch::device {
namespace {

using test::address_of;

class CudaRuntimeTest : public ::testing::Test {
  protected:
    CudaRuntimeTest() { driver.start(); }

    static CudaRuntime found() {
        std::optional<CudaRuntime> runtime = CudaRuntime::find();
        EXPECT_TRUE(runtime.has_value());
        return std::move(runtime).value();
    }
    // Every question there is; true if one of them was answered.
    static bool any_answer(const CudaRuntime& runtime) {
        const bool memory = runtime.memory(0).has_value();
        const bool pointer = runtime.pointer_facts(64).has_value();
        return memory || pointer;
    }

    test::SimulatedDriver driver;
    test::SimulatedRuntime library;
};

TEST_F(CudaRuntimeTest, TellsTheKindsOfMemoryApart) {
    void* device = driver.allocate(64);
    void* host = driver.allocate(64, CU_MEMORYTYPE_HOST);
    void* managed = driver.allocate(64, CU_MEMORYTYPE_DEVICE, true);
    const int local = 0;
    const CudaRuntime runtime = found();
    EXPECT_EQ(runtime.pointer_facts(address_of(device) + 8)->kind, MemoryKind::device);
    EXPECT_EQ(runtime.pointer_facts(address_of(device))->device, 0);
    EXPECT_EQ(runtime.pointer_facts(address_of(host))->kind, MemoryKind::host);
    EXPECT_EQ(runtime.pointer_facts(address_of(managed))->kind, MemoryKind::managed);
    EXPECT_EQ(runtime.pointer_facts(address_of(&local))->kind, MemoryKind::unregistered);
    for (void* memory : {device, host, managed}) {
        driver.release(memory);
    }
    EXPECT_EQ(runtime.pointer_facts(address_of(device))->kind, MemoryKind::unregistered);
    library.expect_undisturbed();
}

TEST_F(CudaRuntimeTest, CountsFreeBytes) {
    const CudaRuntime runtime = found();
    const FreeMemory before = runtime.memory(3).value();
    EXPECT_EQ(before.free, before.total);
    EXPECT_EQ(before.device, 3);
    void* memory = driver.allocate(4096);
    EXPECT_EQ(runtime.memory(3)->free, before.total - 4096);
    driver.release(memory);
    library.expect_undisturbed();
}

TEST_F(CudaRuntimeTest, CountsDevices) {
    const CudaRuntime runtime = found();
    driver.state().faults.devices = 2;
    EXPECT_EQ(runtime.device_count(), 2);
    driver.state().faults.devices = 0;  // a real runtime calls this an error
    EXPECT_EQ(runtime.device_count(), std::nullopt);
    library.expect_undisturbed();
}

TEST_F(CudaRuntimeTest, ReadsTheStructureOfEveryVersion) {
    void* memory = driver.allocate(64);
    const CudaRuntime runtime = found();
    for (const std::uint64_t bytes : {24U, 88U, 256U}) {
        library.state().faults.attribute_bytes = bytes;
        const std::optional<PointerFacts> facts = runtime.pointer_facts(address_of(memory));
        ASSERT_TRUE(facts.has_value()) << bytes;
        EXPECT_EQ(facts->kind, MemoryKind::device) << bytes;
    }
    driver.release(memory);
    library.expect_undisturbed();
    driver.expect_undisturbed();
}

TEST_F(CudaRuntimeTest, ReadsWhatARuntimeOfItsVersionWrites) {
    void* memory = driver.allocate(64);
    for (const auto& [version, bytes] :
         {std::pair{11000, 24U}, {11080, 24U}, {12090, 24U}, {13000, 88U}}) {
        library.state().faults.runtime_version = version;
        library.state().faults.attribute_bytes = bytes;
        const CudaRuntime runtime = found();
        EXPECT_EQ(runtime.pointer_facts(address_of(memory))->kind, MemoryKind::device) << version;
    }
    driver.release(memory);
    library.expect_undisturbed();
}

TEST_F(CudaRuntimeTest, KnowsNothingOfAnAddressOfAnotherProcess) {
    // The child's heap grows beyond what this process has; only the number comes back.
    int channel[2] = {-1, -1};
    ASSERT_EQ(pipe(channel), 0);
    const pid_t child = fork();
    if (child == 0) {
        const std::uint64_t address = address_of(driver.allocate(std::size_t{64} << 20));
        _exit(write(channel[1], &address, sizeof address) == sizeof address ? 0 : 1);
    }
    std::uint64_t address = 0;
    ASSERT_EQ(read(channel[0], &address, sizeof address), ssize_t{sizeof address});
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
    close(channel[0]);
    close(channel[1]);
    EXPECT_EQ(found().pointer_facts(address)->kind, MemoryKind::unregistered);
    library.expect_undisturbed();
}

TEST_F(CudaRuntimeTest, DistrustsAStructureThatIsLargerThanAnyItKnows) {
    const CudaRuntime runtime = found();
    library.state().faults.attribute_bytes = 264;
    EXPECT_FALSE(runtime.pointer_facts(64).has_value());
    library.expect_undisturbed();
    driver.expect_undisturbed();
}

TEST_F(CudaRuntimeTest, TakesNoRuntimeWithAnotherLayout) {
    library.state().faults.runtime_version = 10020;
    EXPECT_FALSE(CudaRuntime::find().has_value());
    for (const int version : {11000, 12080, 13000}) {
        library.state().faults.runtime_version = version;
        EXPECT_TRUE(CudaRuntime::find().has_value()) << version;
    }
    library.expect_undisturbed();
}

TEST_F(CudaRuntimeTest, TakesItsOwnErrorAwayAgain) {
    const CudaRuntime runtime = found();
    driver.state().faults.out_of_memory = true;
    EXPECT_FALSE(runtime.memory(0).has_value());
    EXPECT_EQ(library.questions(), 1);
    library.expect_undisturbed();
}

TEST_F(CudaRuntimeTest, LeavesNoErrorOfALostDevice) {
    const CudaRuntime runtime = found();
    driver.state().faults.device_lost = true;
    EXPECT_FALSE(any_answer(runtime));
    EXPECT_EQ(library.questions(), 2);
    library.expect_undisturbed();
    driver.expect_undisturbed();
}

TEST_F(CudaRuntimeTest, AsksNothingWhileAnErrorOfTheProgramIsPending) {
    const CudaRuntime runtime = found();
    library.thread().last_error = cudaErrorInvalidValue;
    EXPECT_FALSE(any_answer(runtime));
    EXPECT_EQ(runtime.device_count(), std::nullopt);
    EXPECT_EQ(library.questions(), 0);
    library.expect_undisturbed(cudaErrorInvalidValue);
}

TEST_F(CudaRuntimeTest, LeavesAStickyErrorPendingForTheProgram) {
    const CudaRuntime runtime = found();
    driver.state().faults.sticky_error = CUDA_ERROR_ILLEGAL_ADDRESS;
    library.thread().last_error = cudaErrorIllegalAddress;
    EXPECT_FALSE(any_answer(runtime));
    EXPECT_EQ(runtime.device_count(), std::nullopt);
    EXPECT_EQ(library.questions(), 0);
    library.expect_undisturbed(cudaErrorIllegalAddress);
}

TEST_F(CudaRuntimeTest, TakesNoStickyErrorAwayThatItIsTheFirstToMeet) {
    const CudaRuntime runtime = found();
    driver.state().faults.sticky_error = CUDA_ERROR_ILLEGAL_ADDRESS;
    EXPECT_FALSE(any_answer(runtime));
    library.expect_undisturbed(cudaErrorIllegalAddress);
}

TEST_F(CudaRuntimeTest, LeavesNoErrorWhereTheDriverIsTooOldForIt) {
    const CudaRuntime runtime = found();
    library.state().faults.driver_too_old = true;
    EXPECT_FALSE(any_answer(runtime));
    EXPECT_EQ(runtime.device_count(), std::nullopt);
    library.expect_undisturbed();
}

TEST_F(CudaRuntimeTest, BreaksNoCapture) {
    const CudaRuntime runtime = found();
    for (const int mode : {0, 1, 2}) {
        driver.state().faults.capture_mode = mode;
        EXPECT_TRUE(runtime.memory(0).has_value()) << mode;
        EXPECT_TRUE(runtime.pointer_facts(64).has_value()) << mode;
    }
    driver.expect_undisturbed();
    library.expect_undisturbed();
}

TEST_F(CudaRuntimeTest, GivesTheCaptureModeBackThatItFound) {
    const CudaRuntime runtime = found();
    driver.thread().capture_mode = cudaStreamCaptureModeThreadLocal;
    driver.state().faults.out_of_memory = true;
    EXPECT_FALSE(runtime.memory(0).has_value());
    EXPECT_EQ(driver.thread().capture_mode, cudaStreamCaptureModeThreadLocal);
    library.expect_undisturbed();
}

}  // namespace
}  // namespace cyclewatch::device
