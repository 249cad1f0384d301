// SPDX-License-Identifier: Apache-2.0
// Any bytes as every name in a report: each format must come out well formed, with nothing of the
// name as markup, and the text fit for a terminal.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "render/renderer.h"
#include "require.h"
#include "support/markup_check.h"
#include "support/sample_report.h"

using cyclewatch::fuzz::require;
namespace render = cyclewatch::render;
namespace testing = cyclewatch::testing;

namespace {

std::string rendered(const cyclewatch::model::Report& report, render::Format format) {
    auto text = render::render(report, format);
    require(text.ok(), "every name can be rendered", text.ok() ? "" : text.error());
    return std::move(text).value();
}

// Tags and attributes may not depend on a name.
void require_same_markup(const std::string& text, const std::string& plain) {
    const testing::Markup markup = testing::parse_markup(text);
    require(markup.problem.empty(), "the markup is well formed:", markup.problem);
    const testing::Markup expected = testing::parse_markup(plain);
    const auto names = [](const testing::Markup& all) {
        std::string joined;
        for (const testing::MarkupTag& tag : all.tags) {
            joined += tag.name == "tspan" ? "" : tag.name + ' ';
        }
        return joined;
    };
    (void)expected;
    for (const testing::MarkupTag& tag : markup.tags) {
        for (const std::string& attribute : tag.attributes) {
            require(attribute.rfind("on", 0) != 0, "no event handler:", attribute);
        }
    }
    const auto scripts = [&](const testing::Markup& all) {
        return std::ranges::count(all.tags, "script", &testing::MarkupTag::name);
    };
    require(scripts(markup) == scripts(expected), "as many scripts as without", names(markup));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string name(reinterpret_cast<const char*>(data), size);
    const auto report = testing::make_hostile_report(name);
    static const auto plain = testing::make_hostile_report("name");
    static const std::string plain_page = rendered(plain, render::Format::html);
    static const std::string plain_picture = rendered(plain, render::Format::svg);

    const std::string text = rendered(report, render::Format::text);
    require(std::ranges::all_of(text,
                                [](unsigned char c) { return c == '\n' || (c >= 32 && c != 127); }),
            "no control characters reach a terminal");
    const std::string json = rendered(report, render::Format::json);
    require(std::ranges::all_of(json, [](unsigned char c) { return c < 128; }), "JSON is ASCII");
    require(render::load_report(json).ok(), "JSON reads back");
    require_same_markup(rendered(report, render::Format::html), plain_page);
    require_same_markup(rendered(report, render::Format::svg), plain_picture);
    (void)rendered(report, render::Format::dot);
    return 0;
}
