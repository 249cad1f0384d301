// SPDX-License-Identifier: Apache-2.0
#include "render/device_text.h"
#include "render/renderer.h"
#include "support/sample_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

namespace cyclewatch::render {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kGib = std::uint64_t{1} << 30;

model::Report report_with_device() {
    model::Report report;
    report.processes.emplace_back();
    model::DeviceRecord record;
    record.device = "cuda:1";
    record.name = "NVIDIA H100 80GB HBM3";
    record.uuid = "6f1a";
    record.pci_id = "0000:65:00.0";
    record.total = 80 * kGib;
    record.runtime_version = 13000;
    record.driver_version = 12080;
    record.memory = model::MemoryBreakdown{
        .collection = 12, .live = kGib, .dead = 8 * kGib, .torch_cache = kGib, .free = 70 * kGib};
    report.device_records = {record};
    return report;
}

TEST(DeviceText, DescribesTheDevice) {
    const model::Report report = report_with_device();
    const model::DeviceRecord& record = report.device_records->front();
    EXPECT_EQ(device_title(report, record), "cuda:1: NVIDIA H100 80GB HBM3, 80.0 GiB");
    EXPECT_EQ(device_details(record),
              "UUID 6f1a, PCI 0000:65:00.0, CUDA runtime 13.0, driver for CUDA 12.8");
    EXPECT_EQ(memory_sentence(record.memory),
              "Before collection 12: 1.0 GiB live tensors, 8.0 GiB dead in cycles, 1.0 GiB "
              "torch's cache, 70.0 GiB free.");
    EXPECT_EQ(dead_share_sentence(record),
              "8.0 GiB of the 10.0 GiB that torch had reserved on cuda:1 was dead. Without the "
              "cycles, torch reuses this memory without empty_cache().");
}

TEST(DeviceText, OmitsUnknownFacts) {
    model::Report report = report_with_device();
    model::DeviceRecord& record = report.device_records->front();
    record.memory.reset();
    record.runtime_version = 0;
    record.uuid.clear();
    record.error = "cudaErrorIllegalAddress";
    EXPECT_EQ(device_details(record),
              "PCI 0000:65:00.0, driver for CUDA 12.8, pending error cudaErrorIllegalAddress");
    EXPECT_EQ(memory_sentence(record.memory), "");
    EXPECT_EQ(dead_share_sentence(record), "");
}

TEST(DeviceText, DescribesTheMemoryWhenTheReportWasWritten) {
    model::Report report = report_with_device();
    model::DeviceRecord& record = report.device_records->front();
    record.memory_now = model::MemoryBreakdown{.live = 2 * kGib, .free = 78 * kGib};
    const std::string sentence =
        "When the report was written: 2.0 GiB live tensors, 78.0 GiB free.";
    EXPECT_EQ(memory_sentence(record.memory_now), sentence);
    EXPECT_THAT(render(report, Format::text), HasSubstr(sentence));
}

TEST(DeviceText, NamesTheRankInAMergedReport) {
    model::Report report = report_with_device();
    report.processes.emplace_back().rank = 3;
    report.device_records->front().process = 1;
    EXPECT_THAT(device_title(report, report.device_records->front()),
                HasSubstr("rank 3, cuda:1: NVIDIA"));
}

TEST(DeviceText, IsPartOfTheText) {
    const model::Report report = report_with_device();
    EXPECT_THAT(render(report, Format::text), HasSubstr("cuda:1: NVIDIA H100 80GB HBM3, 80.0 GiB"));
}

TEST(DeviceText, CountsDevicesThatAreNotShown) {
    model::Report report = report_with_device();
    report.device_records->resize(kMostDevices + 2, report.device_records->front());
    EXPECT_EQ(shown_devices(report).size(), kMostDevices);
    EXPECT_EQ(omitted_devices(report), "and 2 more devices");
}

}  // namespace
}  // namespace cyclewatch::render
