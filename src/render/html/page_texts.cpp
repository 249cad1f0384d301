// SPDX-License-Identifier: Apache-2.0
#include "render/html/page_texts.h"

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "advice/catalog.h"
#include "model/cycle_gap.h"
#include "render/alignment.h"
#include "render/code_changes.h"
#include "render/device_text.h"
#include "render/excerpt.h"
#include "render/generations.h"
#include "render/picture_text.h"
#include "render/summary.h"
#include "render/svg/svg_renderer.h"

namespace cyclewatch::render {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostSteps = 100;  // in the table of a cycle

// The maximum width of a drawing in a column beside the advice; a wider drawing would be scaled
// down too much.
constexpr double kWidestBeside = 740;

Json growing_texts(const model::Report& report) {
    Json list = Json::array();
    for (const model::GrowingOwner& growing :
         report.growing.value_or(std::vector<model::GrowingOwner>())) {
        list.push_back({{"rate", growth_rate(growing)}, {"full_in", time_until_full(growing)}});
    }
    return list;
}

Json memory_division(const std::optional<model::MemoryBreakdown>& memory) {
    if (!memory) {
        return nullptr;
    }
    Json parts = Json::array();
    for (const MemoryPart& part : memory_parts(*memory)) {
        parts.push_back({{"key", part.key}, {"label", part.label}, {"bytes", part.bytes}});
    }
    return {{"time", memory_time(*memory)}, {"parts", parts}};
}

Json device_texts(const model::Report& report) {
    Json list = Json::array();
    for (const model::DeviceRecord* record : shown_devices(report)) {
        list.push_back({{"title", device_title(report, *record)},
                        {"details", device_details(*record)},
                        {"total", record->total},
                        {"memory", memory_division(record->memory)},
                        {"dead_share", dead_share_sentence(*record)},
                        {"memory_now", memory_division(record->memory_now)}});
    }
    return list;
}

Json code_lines(const model::Reference& reference) {
    Json lines = Json::array();
    if (!reference.source) {
        return lines;
    }
    for (const ExcerptLine& line : excerpt_lines(*reference.source)) {
        lines.push_back({{"number", line.number},
                         {"before", line.before},
                         {"expression", line.expression},
                         {"after", line.after},
                         {"here", line.is_at_location}});
    }
    return lines;
}

Json change_texts(const model::Finding& finding) {
    Json list = Json::array();
    for (const CodeChange& change : changes_of(finding)) {
        list.push_back({{"first", change.first - finding.cut.data()},
                        {"references", change.references},
                        {"holders", change.holders},
                        {"counted_holders", counted_holders(change)},
                        {"classes", classes_words(change)},
                        {"code", code_lines(*change.first)}});
    }
    return list;
}

// Draws pictures until their markup has `most_bytes`.
class Pictures {
  public:
    explicit Pictures(std::size_t most_bytes) : most_bytes_(most_bytes) {}

    Json draw(const model::Picture& picture, std::size_t rank) {
        Drawing drawing;
        std::string_view note = "Diagram omitted to keep this file small.";
        if (size_ < most_bytes_) {
            drawing = draw_picture(picture, rank);
            note = picture.items.empty() ? "No diagram was recorded for this cycle." : kNotLaidOut;
        }
        size_ += drawing.svg.size();
        return {{"svg", drawing.svg},
                {"note", drawing.svg.empty() ? note : ""},
                {"wide", drawing.width > kWidestBeside},
                {"undrawn", undrawn_items(picture)}};
    }

  private:
    std::size_t most_bytes_;
    std::size_t size_ = 0;
};

Json finding_texts(const model::Report& report, std::size_t most_picture_bytes) {
    Pictures pictures(most_picture_bytes);
    Json list = Json::array();
    for (const model::Finding& finding : report.findings) {
        Json alternative_code = Json::array();
        for (const model::Reference& alternative : finding.alternatives) {
            alternative_code.push_back(code_lines(alternative));
        }
        const std::size_t shown_steps = std::min(finding.cycle.size(), kMostSteps);
        list.push_back(
            {{"headline", headline(finding)},
             {"size", kept_size(finding)},
             {"occasions", occasions(finding)},
             {"sharing", finding.shared_bytes > 0 ? sharing_words(finding) : ""},
             {"unowned", unowned_words(finding)},
             {"collected", collected_words(finding)},
             {"never_freed", is_never_freed(finding)},
             {"changes", change_texts(finding)},
             {"alternative_code", alternative_code},
             {"shown_steps", shown_steps},
             {"more_steps", model::references_in(std::span(finding.cycle).subspan(shown_steps))},
             {"picture", pictures.draw(finding.picture, list.size() + 1)}});
    }
    return list;
}

// The built-in patterns of the findings.
Json pattern_texts(const model::Report& report) {
    Json patterns = Json::object();
    for (const model::Finding& finding : report.findings) {
        const advice::Pattern* const pattern = advice::Catalog::built_in().find(finding.pattern);
        if (pattern == nullptr || pattern->id == "unknown") {  // there is no explanation
            continue;
        }
        patterns[pattern->id] = {{"title", pattern->title},
                                 {"shape", pattern->shape},
                                 {"before", pattern->before},
                                 {"after", pattern->after},
                                 {"links", pattern->links}};
    }
    return patterns;
}

}  // namespace

std::string page_texts(const model::Report& report, std::size_t most_picture_bytes) {
    const Json texts = {{"findings", finding_texts(report, most_picture_bytes)},
                        {"never_freed", kNeverFreedSentence},
                        {"patterns", pattern_texts(report)},
                        {"processes", program_line(report.processes)},
                        {"census", census_words(report)},
                        {"growing", growing_texts(report)},
                        {"devices", device_texts(report)},
                        {"more_devices", omitted_devices(report)},
                        {"collections", collections_sentence(report)},
                        {"alignment", alignment_sentence(report)},
                        {"overhead", overhead_sentence(report)},
                        {"notes", omissions(report)}};
    return texts.dump(-1, ' ', true, Json::error_handler_t::replace);
}

}  // namespace cyclewatch::render
