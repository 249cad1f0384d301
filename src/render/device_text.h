// SPDX-License-Identifier: Apache-2.0
// Sentences about the CUDA devices of a report. Plain text, not escaped.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/report.h"

namespace cyclewatch::render {

inline constexpr std::size_t kMostDevices = 16;  // a renderer counts the rest

// The records in report order, at most kMostDevices.
[[nodiscard]] std::vector<const model::DeviceRecord*> shown_devices(const model::Report& report);
// "and 3 more devices"; "" if all are shown.
[[nodiscard]] std::string omitted_devices(const model::Report& report);

// "cuda:0: NVIDIA H100 80GB HBM3, 79.6 GiB". In a merged report, preceded by "rank 3, ".
[[nodiscard]] std::string device_title(const model::Report& report,
                                       const model::DeviceRecord& record);
// "UUID 6f1a..., PCI 0000:65:00.0, CUDA runtime 13.0, driver for CUDA 13.1".
[[nodiscard]] std::string device_details(const model::DeviceRecord& record);

// One part of the device's memory. `key` is a word for style sheets.
struct MemoryPart {
    std::string_view key;
    std::string_view label;
    std::uint64_t bytes = 0;
};
// The parts that are not empty, in the order in which they are drawn.
[[nodiscard]] std::vector<MemoryPart> memory_parts(const model::MemoryBreakdown& memory);

// "Before collection 12" or "When the report was written".
[[nodiscard]] std::string memory_time(const model::MemoryBreakdown& memory);
// "Before collection 12: 0.9 GiB live tensors, 8.1 GiB dead in cycles, 70.6 GiB free."; "" if
// unknown.
[[nodiscard]] std::string memory_sentence(const std::optional<model::MemoryBreakdown>& memory);
// "8.1 GiB of the 9.0 GiB that torch had reserved on cuda:0 was dead: ..."; "" without torch.
[[nodiscard]] std::string dead_share_sentence(const model::DeviceRecord& record);

}  // namespace cyclewatch::render
