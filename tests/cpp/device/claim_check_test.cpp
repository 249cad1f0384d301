// SPDX-License-Identifier: Apache-2.0
#include "device/claim_check.h"
#include "cuda_simulation.h"

#include <gtest/gtest.h>
#include <optional>
#include <string>

namespace cyclewatch::device {
namespace {

using test::address_of;

OwnerReading claim(const std::string& device, std::uint64_t bytes, const void* memory) {
    OwnerReading reading;
    reading.device = device;
    reading.bytes = bytes;
    reading.storage = address_of(memory);
    return reading;
}

class ClaimCheckTest : public ::testing::Test {
  protected:
    ClaimCheckTest() { driver.start(); }
    ~ClaimCheckTest() override { driver.expect_unaffected(); }
    // Uses a type that was not checked before, so that the claim is checked.
    [[nodiscard]] bool contradicts(const OwnerReading& reading) {
        check.emplace(queries);
        return check->contradicts(&PyLong_Type, reading);
    }

    test::SimulatedDriver driver;
    DeviceQueries queries;
    std::optional<ClaimCheck> check;
};

TEST_F(ClaimCheckTest, AcceptsMemoryInsideAnAllocation) {
    auto* const memory = static_cast<char*>(driver.allocate(4096));
    EXPECT_FALSE(contradicts(claim("cuda:0", 4096, memory)));
    EXPECT_FALSE(contradicts(claim("cuda:0", 96, memory + 4000)));
    driver.release(memory);
}

TEST_F(ClaimCheckTest, FindsContradictions) {
    void* const memory = driver.allocate(4096);
    void* const host = driver.allocate(4096, CU_MEMORYTYPE_HOST);
    EXPECT_TRUE(contradicts(claim("cuda:0", std::uint64_t{4} << 30, memory)));
    EXPECT_EQ(check->description(),
              "claims 4.0 GiB of cuda:0 at an address that CUDA knows as 4.0 KiB of cuda:0");
    EXPECT_TRUE(contradicts(claim("cuda:1", 4096, memory)));
    EXPECT_EQ(check->description(),
              "claims 4.0 KiB of cuda:1 at an address that CUDA knows as 4.0 KiB of cuda:0");
    EXPECT_TRUE(contradicts(claim("cuda:0", 4096, host)));
    EXPECT_EQ(check->description(),
              "claims 4.0 KiB of cuda:0 at an address that CUDA knows as 4.0 KiB of host memory");
    driver.release(memory);
    driver.release(host);
}

TEST_F(ClaimCheckTest, AcceptsMemoryThatConsistsOfSeveralAllocations) {
    void* const memory = driver.allocate(1 << 20);
    auto* const start = static_cast<char*>(memory);
    const simulated::Faults pieces{.piece_bytes = 4096};
    driver.state().faults = pieces;
    EXPECT_EQ(queries.allocation_at(address_of(start) + 5000)->start, address_of(start) + 4096);
    EXPECT_FALSE(contradicts(claim("cuda:0", 1 << 20, memory)));
    EXPECT_TRUE(contradicts(claim("cuda:0", std::uint64_t{1} << 40, memory)));
    driver.release(memory);
}

TEST_F(ClaimCheckTest, AcceptsIdentifiersAndOtherDevices) {
    const int local = 0;
    EXPECT_FALSE(contradicts(claim("cuda:0", 4096, &local))) << "unknown to CUDA";
    void* const memory = driver.allocate(16);
    EXPECT_FALSE(contradicts(claim("cpu", 4096, memory)));
    EXPECT_FALSE(contradicts(claim("cuda", 4096, memory)));
    driver.thread().context = simulated::Context::none;
    EXPECT_FALSE(contradicts(claim("cuda:1", 4096, memory))) << "CUDA must not be called";
    driver.thread().context = simulated::Context::current;
    driver.release(memory);
}

TEST_F(ClaimCheckTest, ChecksSomeOwnersAndAllOfASuspectType) {
    void* const memory = driver.allocate(4096);
    const OwnerReading right = claim("cuda:0", 4096, memory);
    const OwnerReading wrong = claim("cuda:1", 4096, memory);
    ClaimCheck claims(queries);
    EXPECT_FALSE(claims.contradicts(&PyLong_Type, right));
    int before = driver.queries();
    for (std::uint32_t i = 1; i < ClaimCheck::kInterval; ++i) {
        EXPECT_FALSE(claims.contradicts(&PyLong_Type, wrong));
    }
    EXPECT_EQ(driver.queries(), before);
    EXPECT_TRUE(claims.contradicts(&PyLong_Type, wrong));
    EXPECT_TRUE(claims.contradicts(&PyLong_Type, wrong)) << "every owner from now on";
    EXPECT_TRUE(claims.contradicts(&PyFloat_Type, wrong)) << "each type is counted separately";
    driver.release(memory);
}

}  // namespace
}  // namespace cyclewatch::device
