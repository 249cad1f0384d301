// SPDX-License-Identifier: Apache-2.0
#include "render/html/html_writer.h"

#include <cstddef>
#include <string>
#include <string_view>

#include "base/text.h"

namespace cyclewatch::render {
namespace {

// Allows line breaks after the separators of a dotted name or path.
std::string with_breaks(const std::string& name) {
    std::string out;
    std::size_t start = 0;
    for (std::size_t i = 0; i < name.size(); ++i) {
        const char c = name[i];
        if ((c == '.' || c == '/' || c == ':') && i > start) {
            out +=
                base::escape_markup(std::string_view(name).substr(start, i + 1 - start)) + "<wbr>";
            start = i + 1;
        }
    }
    return out + base::escape_markup(std::string_view(name).substr(start));
}

}  // namespace

std::string wrap_markup(std::string_view tag, std::string_view style, std::string_view markup) {
    std::string out = "<";
    out.append(tag);
    if (!style.empty()) {
        out.append(" class=\"").append(style).append("\"");
    }
    out.append(">").append(markup).append("</").append(tag).append(">");
    return out;
}

std::string element(std::string_view tag, std::string_view style, std::string_view text) {
    return wrap_markup(tag, style, base::escape_markup(text));
}

std::string code(std::string_view name, std::string_view style) {
    return wrap_markup("code", style, with_breaks(base::shown_name(name)));
}

std::string prose(std::string_view sentence) {
    constexpr std::size_t kMostColumns = 600;
    const std::string text = base::truncate_end(base::clean_text(sentence), kMostColumns);
    std::string out;
    std::size_t start = 0;
    for (;;) {
        const std::size_t open = text.find('`', start);
        const std::size_t close =
            open == std::string::npos ? std::string::npos : text.find('`', open + 1);
        if (close == std::string::npos) {  // a lone backtick is text
            return out + base::escape_markup(std::string_view(text).substr(start));
        }
        out += base::escape_markup(std::string_view(text).substr(start, open - start)) +
               element("code", "", std::string_view(text).substr(open + 1, close - open - 1));
        start = close + 1;
    }
}

std::string title_markup(std::string_view title) {
    return with_breaks(base::truncate_middle(base::clean_text(title), 3 * base::kMaxNameColumns));
}

std::string scrolling_table(std::string_view caption,
                            std::string_view head,
                            std::string_view rows) {
    const std::string label = base::escape_markup(caption);
    std::string out = "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"" + label +
                      "\"><table>\n<caption>" + label + "</caption>\n<thead><tr>";
    out.append(head).append("</tr></thead>\n<tbody>\n").append(rows);
    return out + "</tbody></table></div>\n";
}

}  // namespace cyclewatch::render
