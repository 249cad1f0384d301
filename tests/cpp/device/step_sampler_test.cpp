// SPDX-License-Identifier: Apache-2.0
#include "device/step_sampler.h"
#include "support/embedded_python.h"

#include <gtest/gtest.h>
#include <cstring>
#include <vector>

namespace cyclewatch::device {
namespace {

using std::chrono::milliseconds;

class StepSamplerTest : public testing::Test {
  protected:
    StepSamplerTest() { test::start_python(); }

    std::uint64_t resident_at(StepSampler::Clock::time_point now) {
        const std::vector<StepCounters> counters = sampler_.sample(cpu_, now);
        EXPECT_EQ(counters.size(), 1U);
        return counters.empty() ? 0 : counters.front().in_use;
    }

    StepSampler sampler_;
    DeviceSelection cpu_ = DeviceSelection::parse({"cpu"}).value();
};

TEST_F(StepSamplerTest, ReadsTheResidentMemoryTenTimesASecond) {
    const StepSampler::Clock::time_point start = StepSampler::Clock::now();
    const std::uint64_t before = resident_at(start);
    std::vector<char> memory(64 << 20);
    std::memset(memory.data(), 1, memory.size());  // makes the pages resident
    EXPECT_EQ(resident_at(start + milliseconds(99)), before);
    EXPECT_GE(resident_at(start + milliseconds(100)), before + (32 << 20));
}

}  // namespace
}  // namespace cyclewatch::device
