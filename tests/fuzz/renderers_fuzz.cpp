// SPDX-License-Identifier: Apache-2.0
// Uses hostile names and arbitrary bytes as every name in a report. Each format must be well formed
// and contain no markup from the name, and the text format must not contain control characters.
#include <cgraph.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "base/text.h"
#include "render/renderer.h"
#include "require.h"
#include "support/hostile_names.h"
#include "support/markup_check.h"
#include "support/sample_report.h"

using cyclewatch::fuzz::require;
namespace render = cyclewatch::render;
namespace testing = cyclewatch::testing;

namespace {

// Maps each tag, with its attributes, to its count. Tags that only wrap names are ignored.
std::map<std::string, int> tags_of(const std::string& text) {
    const testing::Markup markup = testing::parse_markup(text);
    require(markup.problem.empty(), "the markup is well formed:", markup.problem);
    std::map<std::string, int> tags;
    for (const testing::MarkupTag& tag : markup.tags) {
        // A sentence shows what is between backticks as code; a name may contain backticks.
        const bool wraps_a_name = tag.name == "tspan" || tag.name == "wbr" ||
                                  (tag.name == "code" && tag.attributes.empty());
        if (!wraps_a_name) {
            std::string written = tag.name;
            for (const std::string& attribute : tag.attributes) {
                // Elements are hidden if their name is empty; large reports are packed.
                if (attribute != "hidden" && attribute != "data-packed") {
                    written += ' ' + attribute;
                }
            }
            ++tags[written];
        }
    }
    return tags;
}

// A name must not add tags or attributes; an empty name may remove some.
void require_no_more_markup(const std::string& text, const std::map<std::string, int>& plain) {
    for (const auto& [tag, times] : tags_of(text)) {
        const auto found = plain.find(tag);
        require(found != plain.end(), "no tag or attribute comes from a name:", tag);
        require(times <= found->second, "no additional tag or attribute:", tag);
    }
}

// The numbers of nodes and edges that Graphviz reads.
std::pair<int, int> size_of_graph(const std::string& dot) {
    Agraph_t* const graph = agmemread(dot.c_str());
    require(graph != nullptr, "DOT reads back");
    const std::pair<int, int> size{agnnodes(graph), agnedges(graph)};
    agclose(graph);
    return size;
}

void check(const std::string& name) {
    const auto report = testing::make_hostile_report(name);
    // Boxes of pictures have two lines if the name is long; " -> " separates the steps of a path.
    static const auto plain = testing::make_hostile_report(std::string(100, 'n') + " -> n");
    static const auto plain_page = tags_of(render::render(plain, render::Format::html));
    static const auto plain_svg = tags_of(render::render(plain, render::Format::svg));
    static const auto plain_graph = size_of_graph(render::render(plain, render::Format::dot));

    const std::string text = render::render(report, render::Format::text);
    for (std::size_t at = 0; at < text.size();) {
        const std::string line = text.substr(at, text.find('\n', at) - at);
        require(cyclewatch::base::clean_text(line) == line, "the text has no control characters");
        at += line.size() + 1;
    }
    const std::string json = render::render(report, render::Format::json);
    require(std::ranges::all_of(json, [](unsigned char c) { return c < 128; }), "JSON is ASCII");
    require(render::load_report(json).ok(), "JSON reads back");
    require_no_more_markup(render::render(report, render::Format::html), plain_page);
    require_no_more_markup(render::render(report, render::Format::svg), plain_svg);
    require(size_of_graph(render::render(report, render::Format::dot)) == plain_graph,
            "DOT has the same nodes and edges");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static std::once_flag once;
    std::call_once(once, [] { std::ranges::for_each(testing::hostile_names(), check); });
    check(std::string(reinterpret_cast<const char*>(data), size));
    return 0;
}
