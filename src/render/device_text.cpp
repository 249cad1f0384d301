// SPDX-License-Identifier: Apache-2.0
#include "render/device_text.h"

#include <algorithm>

#include "base/text.h"

namespace cyclewatch::render {
namespace {

using base::format_bytes;
using model::DeviceRecord;
using model::MemoryBreakdown;

// 13010 -> "13.1".
std::string version_words(int version) {
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

void append(std::string& list, const std::string& item) {
    list.append(list.empty() ? "" : ", ").append(item);
}

}  // namespace

std::vector<const DeviceRecord*> shown_devices(const model::Report& report) {
    std::vector<const DeviceRecord*> shown;
    if (report.device_records) {
        for (const DeviceRecord& record : *report.device_records) {
            if (shown.size() < kMostDevices) {
                shown.push_back(&record);
            }
        }
    }
    return shown;
}

std::string omitted_devices(const model::Report& report) {
    const std::size_t all = report.device_records ? report.device_records->size() : 0;
    return all <= kMostDevices ? "" : "and " + base::counted(all - kMostDevices, "more device");
}

std::string device_title(const model::Report& report, const DeviceRecord& record) {
    std::string title;
    if (report.processes.size() > 1 && record.process < report.processes.size()) {
        const model::ProgramInfo& process = report.processes[record.process];
        title = process.rank >= 0 ? "rank " + std::to_string(process.rank)
                                  : "process " + std::to_string(process.pid);
        title += ", ";
    }
    return base::clean_text(title + record.device + ": " + record.name + ", " +
                            format_bytes(record.total));
}

std::string device_details(const DeviceRecord& record) {
    std::string details;
    if (!record.uuid.empty()) {
        append(details, "UUID " + record.uuid);
    }
    if (!record.pci_id.empty()) {
        append(details, "PCI " + record.pci_id);
    }
    if (record.runtime_version > 0) {
        append(details, "CUDA runtime " + version_words(record.runtime_version));
    }
    if (record.driver_version > 0) {
        append(details, "driver for CUDA " + version_words(record.driver_version));
    }
    if (!record.error.empty()) {
        append(details, "pending error " + record.error);
    }
    return base::clean_text(details);
}

std::vector<MemoryPart> memory_parts(const MemoryBreakdown& memory) {
    std::vector<MemoryPart> parts{{"live", "live tensors", memory.live},
                                  {"dead", "dead in cycles", memory.dead},
                                  {"torch-cache", "torch's cache", memory.torch_cache},
                                  {"pool-used", "CUDA pool in use", memory.pool_used},
                                  {"pool-cache", "CUDA pool's cache", memory.pool_cache},
                                  {"graphs", "captured graphs", memory.graphs},
                                  {"elsewhere", "other", memory.other},
                                  {"free", "free", memory.free}};
    std::erase_if(parts, [](const MemoryPart& part) { return part.bytes == 0; });
    return parts;
}

std::string memory_time(const MemoryBreakdown& memory) {
    return memory.collection == 0 ? "When the report was written"
                                  : "Before collection " + base::format_count(memory.collection);
}

std::string memory_sentence(const std::optional<MemoryBreakdown>& memory) {
    if (!memory) {
        return {};
    }
    std::string list;
    for (const MemoryPart& part : memory_parts(*memory)) {
        append(list, format_bytes(part.bytes) + " " + std::string(part.label));
    }
    return memory_time(*memory) + ": " + list + ".";
}

std::string dead_share_sentence(const DeviceRecord& record) {
    if (!record.memory || record.memory->dead == 0) {
        return {};
    }
    const MemoryBreakdown& memory = *record.memory;
    if (memory.live == 0 && memory.torch_cache == 0) {
        return {};  // torch did not allocate on this device, or everything was dead
    }
    return format_bytes(memory.dead) + " of the " +
           format_bytes(memory.dead + memory.live + memory.torch_cache) +
           " that torch had reserved on " + base::clean_text(record.device) +
           " was dead. Without the cycles, torch reuses this memory without empty_cache().";
}

}  // namespace cyclewatch::render
