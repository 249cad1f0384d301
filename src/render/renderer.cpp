// SPDX-License-Identifier: Apache-2.0
#include "render/renderer.h"

#include <array>

#include "format/json.h"
#include "render/html/html_renderer.h"
#include "render/svg/svg_renderer.h"

namespace cyclewatch::render {
namespace {

struct FormatEntry {
    Format format;
    std::string_view name;
    std::string_view suffix;
    std::string_view other_suffix;
};

// In the order of the enumerators of Format.
constexpr std::array kFormats{
    FormatEntry{Format::text, "text", ".txt", {}},
    FormatEntry{Format::json, "json", ".json", {}},
    FormatEntry{Format::dot, "dot", ".dot", ".gv"},
    FormatEntry{Format::svg, "svg", ".svg", {}},
    FormatEntry{Format::html, "html", ".html", ".htm"},
};

}  // namespace

const std::vector<std::string>& format_names() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> all;
        all.reserve(kFormats.size());
        for (const FormatEntry& entry : kFormats) {
            all.emplace_back(entry.name);
        }
        return all;
    }();
    return names;
}

std::optional<Format> format_from_name(std::string_view name) {
    for (const FormatEntry& entry : kFormats) {
        if (entry.name == name) {
            return entry.format;
        }
    }
    return std::nullopt;
}

std::optional<Format> format_from_path(std::string_view path) {
    for (const FormatEntry& entry : kFormats) {
        if (path.ends_with(entry.suffix) ||
            (!entry.other_suffix.empty() && path.ends_with(entry.other_suffix))) {
            return entry.format;
        }
    }
    return std::nullopt;
}

std::string_view format_suffix(Format format) {
    return kFormats[static_cast<std::size_t>(format)].suffix;
}

std::string render(const model::Report& report, Format format) {
    switch (format) {
        case Format::text:
            return render_text(report);
        case Format::json:
            return format::write_json(report);
        case Format::dot:
            return render_dot(report);
        case Format::svg:
            return render_svg(report);
        case Format::html:
            return render_html(report);
    }
    return {};
}

}  // namespace cyclewatch::render
