// SPDX-License-Identifier: Apache-2.0
#include "render/html_reader.h"

#include <string>

#include "render/json_reader.h"
#include "render/renderer.h"

namespace cyclewatch::render {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kBlank = " \t\r\n";

// Where the text proper begins.
std::size_t content_start(std::string_view contents) {
    const std::size_t mark = contents.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
    return std::min(contents.find_first_not_of(kBlank, mark), contents.size());
}

}  // namespace

bool looks_like_html(std::string_view contents) {
    return contents.substr(content_start(contents)).starts_with('<');
}

base::Result<EmbeddedReport> find_embedded_report(std::string_view page) {
    const std::size_t tag = page.find(kReportScriptStart);
    if (tag == std::string_view::npos) {
        return base::Error{
            "a page, but not a cyclewatch report: it has no <script type=\"application/json\" "
            "id=\"cyclewatch-report\">"};
    }
    const std::size_t start = tag + kReportScriptStart.size();
    const std::size_t end = page.find(kReportScriptEnd, start);
    if (end == std::string_view::npos) {
        return base::Error{"the page ends at byte " + std::to_string(page.size()) +
                           ", inside the report that starts at byte " + std::to_string(start) +
                           ": it was cut short"};
    }
    return EmbeddedReport{page.substr(start, end - start), start};
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
