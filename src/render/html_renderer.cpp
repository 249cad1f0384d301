// SPDX-License-Identifier: Apache-2.0
#include "render/html_renderer.h"

#include "render/html_reader.h"
#include "render/json_renderer.h"
#include "render/labels.h"
#include "render/text_renderer.h"

namespace cyclewatch::render {

std::string render_html(const model::Report& report) {
    std::string page =
        "<!doctype html>\n<meta charset=\"utf-8\">\n<title>cyclewatch</title>\n<pre>";
    page += escape_markup(render_text(report)) + "</pre>\n";
    page.append(kReportScriptStart).append(render_script_safe_json(report));
    page.append(kReportScriptEnd).append("\n");
    return page;
}

}  // namespace cyclewatch::render
