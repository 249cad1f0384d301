// SPDX-License-Identifier: Apache-2.0
// Reading any bytes as a report file yields a report or an error, and writing and rereading a
// report does not change it. Every format can render the report.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "model/report.h"
#include "render/renderer.h"
#include "require.h"

using cyclewatch::fuzz::require;
namespace render = cyclewatch::render;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto report =
        render::load_report(std::string_view(reinterpret_cast<const char*>(data), size));
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
