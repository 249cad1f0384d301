// SPDX-License-Identifier: Apache-2.0
#include "render/html_pattern.h"

#include <algorithm>
#include <string_view>

#include "catalog/catalog.h"
#include "render/html_writer.h"
#include "render/labels.h"

namespace cyclewatch::render {
namespace {

// Line by line, since escaping makes a space of what would break a name over lines.
std::string escaped_lines(std::string_view text) {
    std::string markup;
    for (std::size_t start = 0; start < text.size();) {
        const std::size_t end = std::min(text.find('\n', start), text.size());
        markup += escape_markup(text.substr(start, end - start)) + "\n";
        start = end + 1;
    }
    return markup;
}

// Long lines scroll in their box, so the keyboard has to get there.
std::string sample(std::string_view title, std::string_view style, std::string_view lines) {
    std::string markup = element("h3", "", title);
    markup.append("<pre role=\"region\" tabindex=\"0\" aria-label=\"").append(title).append("\">");
    markup += wrap_markup("code", "", escaped_lines(lines)) + "</pre>";
    return wrap_markup("div", style, markup) + "\n";
}

std::string public_cases(const catalog::Pattern& pattern) {
    if (pattern.links.empty()) {
        return {};
    }
    std::string items;
    for (const std::string& link : pattern.links) {
        const std::string address = escape_markup(link);
        items.append("<li><a rel=\"noreferrer\" href=\"").append(address).append("\">");
        items.append(address).append("</a></li>\n");
    }
    return element("h3", "cases", "Public cases") + wrap_markup("ul", "links", items) + "\n";
}

}  // namespace

std::string pattern_details(const model::Finding& finding) {
    const catalog::Pattern* const pattern = catalog::Catalog::built_in().find(finding.pattern);
    if (pattern == nullptr || pattern->id == "unknown") {  // "unknown" knows nothing to tell
        return {};
    }
    return "<details class=\"pattern\">" +
           element("summary", "", "About this kind of loop: " + pattern->title) + "\n" +
           element("p", "explanation", "Its shape: " + pattern->shape + ".") +
           "\n<div class=\"before-after\">\n" + sample("Before", "before", pattern->before) +
           sample("After", "after", pattern->after) + "</div>\n" + public_cases(*pattern) +
           "</details>\n";
}

}  // namespace cyclewatch::render
