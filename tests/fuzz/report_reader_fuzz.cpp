// SPDX-License-Identifier: Apache-2.0
// Reading any bytes as a report file yields a report or an error, and writing and rereading a
// report does not change it. Both ways of reading agree. Every format can render the report.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "format/direct_reader.h"
#include "format/json.h"
#include "model/report.h"
#include "render/renderer.h"
#include "require.h"

using cyclewatch::fuzz::require;
namespace render = cyclewatch::render;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    const auto report = render::load_report(text);
    // With a byte order mark, the document is parsed, and not read directly.
    const auto parsed = cyclewatch::format::read_json_report("\xEF\xBB\xBF" + text);
    if (cyclewatch::format::read_directly(text)) {
        require(report.ok() == parsed.ok(), "both ways of reading accept the report");
        require(!report.ok() || report.value() == parsed.value(), "both read the same report");
    }
    if (!report.ok()) {
        require(!report.error().empty(), "an error has a message");
        return 0;
    }
    const auto again = render::load_report(render::render(report.value(), render::Format::json));
    require(again.ok(), "a written report can be read", again.ok() ? "" : again.error());
    require(again.value() == report.value(), "a report that is read again is equal");
    for (const std::string& name : render::format_names()) {
        (void)render::render(report.value(), *render::format_from_name(name));
    }
    return 0;
}
