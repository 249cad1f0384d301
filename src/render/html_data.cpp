// SPDX-License-Identifier: Apache-2.0
#include "render/html_data.h"

#include <algorithm>

#include "render/json_reader.h"
#include "render/json_renderer.h"
#include "render/packing.h"
#include "render/renderer.h"

namespace cyclewatch::render {
namespace {

// The two ways the element begins; spelled in one place for writing and reading.
constexpr std::string_view kPlainStart =
    R"(<script type="application/json" id="cyclewatch-report">)";
constexpr std::string_view kPackedStart =
    R"(<script type="application/json" id="cyclewatch-report" data-packed="gzip-base64">)";
constexpr std::string_view kEnd = "</script>";

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kBlank = " \t\r\n";

// Where the text proper begins.
std::size_t content_start(std::string_view contents) {
    const std::size_t mark = contents.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
    return std::min(contents.find_first_not_of(kBlank, mark), contents.size());
}

}  // namespace

std::string report_element(const model::Report& report) {
    const std::string to_pack = render_json_to_pack(report);
    std::string json;
    if (to_pack.size() <= kLongestPlainJson) {
        json = render_script_safe_json(report);
    }
    const bool packed = json.empty() || json.size() > kLongestPlainJson;
    std::string out(packed ? kPackedStart : kPlainStart);
    return out.append(packed ? pack(to_pack) : json).append(kEnd).append("\n");
}

bool looks_like_html(std::string_view contents) {
    return contents.substr(content_start(contents)).starts_with('<');
}

base::Result<EmbeddedReport> find_embedded_report(std::string_view page) {
    const std::size_t packed_tag = page.find(kPackedStart);
    const bool packed = packed_tag != std::string_view::npos;
    const std::size_t tag = packed ? packed_tag : page.find(kPlainStart);
    if (tag == std::string_view::npos) {
        return base::Error{
            "a page, but not a cyclewatch report: it has no <script type=\"application/json\" "
            "id=\"cyclewatch-report\">"};
    }
    const std::size_t start = tag + (packed ? kPackedStart : kPlainStart).size();
    const std::size_t end = page.find(kEnd, start);
    if (end == std::string_view::npos) {
        return base::Error{"the page ends at byte " + std::to_string(page.size()) +
                           ", inside the report that starts at byte " + std::to_string(start) +
                           ": it was cut short"};
    }
    const std::string_view contents = page.substr(start, end - start);
    if (!packed) {
        return EmbeddedReport{std::string(contents), start};
    }
    auto json = unpack(contents, kLongestUnpackedJson);
    if (!json) {
        return base::Error{json.error()};
    }
    return EmbeddedReport{std::move(json.value()), 0};
}

base::Result<model::Report> load_report(std::string_view contents) {
    const std::size_t start = content_start(contents);
    if (start == contents.size()) {
        return base::Error{"the file is empty"};
    }
    if (!looks_like_html(contents)) {
        return read_json_report(contents.substr(start), start);
    }
    auto embedded = find_embedded_report(contents);
    if (!embedded) {
        return base::Error{embedded.error()};
    }
    return read_json_report(embedded.value().json, embedded.value().offset);
}

}  // namespace cyclewatch::render
