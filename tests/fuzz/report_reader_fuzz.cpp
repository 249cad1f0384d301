// SPDX-License-Identifier: Apache-2.0
// Any bytes as a report file: a report or an error in words, and what was read can be written and
// read again without a difference.
#include <cstddef>
#include <cstdint>
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
        require(!report.error().empty(), "an error says something");
        return 0;
    }
    const auto again = render::load_report(render::render(report.value(), render::Format::json));
    require(again.ok(), "what was written can be read", again.ok() ? "" : again.error());
    require(again.value() == report.value(), "what is read again is the same");
    for (const cyclewatch::model::Finding& finding : report.value().findings) {
        (void)render::render_card(finding);
    }
    return 0;
}
