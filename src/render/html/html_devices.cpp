// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "render/device_text.h"
#include "render/html/html_parts.h"
#include "render/html/html_writer.h"
#include "render/svg/svg_renderer.h"

namespace cyclewatch::render {
namespace {

using model::DeviceRecord;

std::string memory_bar(std::uint64_t total, const std::vector<MemoryPart>& parts) {
    const double scale = 1000 / static_cast<double>(std::max<std::uint64_t>(total, 1));
    std::string out =
        "<svg class=\"bar memory\" viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\" "
        "aria-hidden=\"true\">" +
        svg_rectangle("room", 0, 0, 1000, 10);
    double start = 0;
    for (const MemoryPart& part : parts) {
        const double width = static_cast<double>(part.bytes) * scale;
        if (part.key != "free") {
            out += svg_rectangle(std::string("memory-").append(part.key), start, 0, width, 10);
        }
        start += width;
    }
    return out + "</svg>\n";
}

std::string legend(const std::vector<MemoryPart>& parts) {
    std::string out = "<p class=\"key-line\">";
    for (const MemoryPart& part : parts) {
        out += element("span",
                       std::string("key memory-").append(part.key),
                       base::format_bytes(part.bytes) + " " + std::string(part.label)) +
               " ";
    }
    return out + "</p>\n";
}

std::string memory_division(std::uint64_t total,
                            const std::optional<model::MemoryBreakdown>& memory) {
    if (!memory) {
        return {};
    }
    const std::vector<MemoryPart> parts = memory_parts(*memory);
    return element("p", "", memory_time(*memory) + ":") + "\n" + memory_bar(total, parts) +
           legend(parts);
}

std::string device_entry(const model::Report& report, const DeviceRecord& record) {
    const auto shortened = [](const std::string& text) { return base::truncate_end(text, 300); };
    std::string out = "<li>" + element("b", "", shortened(device_title(report, record))) + "\n" +
                      element("p", "quiet", shortened(device_details(record))) + "\n";
    out += memory_division(record.total, record.memory);
    if (const std::string share = dead_share_sentence(record); !share.empty()) {
        out += element("p", "", share) + "\n";
    }
    return out + memory_division(record.total, record.memory_now) + "</li>\n";
}

}  // namespace

std::string devices_section(const model::Report& report) {
    const std::vector<const DeviceRecord*> shown = shown_devices(report);
    if (shown.empty()) {
        return {};
    }
    std::string out =
        "<section id=\"devices\" class=\"panel\" aria-labelledby=\"devices-title\"><header><h2 "
        "id=\"devices-title\">Device memory</h2></header>\n";
    if (std::ranges::any_of(shown, [](const auto* record) { return record->memory.has_value(); })) {
        out += element("p",
                       "quiet",
                       "The memory in use before the collection that freed the most memory on the "
                       "device, and when the report was written. Other memory belongs to CUDA "
                       "contexts, other libraries and other processes.") +
               "\n";
    }
    out += "<ul class=\"devices\">\n";
    for (const DeviceRecord* record : shown) {
        out += device_entry(report, *record);
    }
    out += "</ul>\n";
    if (const std::string more = omitted_devices(report); !more.empty()) {
        out += element("p", "more", more) + "\n";
    }
    return out + "</section>\n";
}

}  // namespace cyclewatch::render
