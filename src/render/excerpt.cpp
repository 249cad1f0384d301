// SPDX-License-Identifier: Apache-2.0
#include "render/excerpt.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace cyclewatch::render {
namespace {

constexpr std::size_t kMostColumns = 200;

bool is_blank(std::string_view line) {
    return line.find_first_not_of(' ') == std::string_view::npos;
}

// The byte offset of the code point at position `index`.
std::size_t offset_of(std::string_view text, std::uint32_t index) {
    std::size_t at = 0;
    for (std::uint32_t i = 0; i < index && at < text.size(); ++i) {
        do {
            ++at;
        } while (at < text.size() && base::is_continuation(text[at]));
    }
    return at;
}

void split(ExcerptLine& line, const model::SourceExcerpt& source, std::size_t indent) {
    const std::string text = line.before;
    if (source.start_column <= indent || source.end_column <= source.start_column) {
        return;
    }
    const auto shift = static_cast<std::uint32_t>(indent + 1);
    const std::size_t start = offset_of(text, source.start_column - shift);
    const std::size_t end = offset_of(text, source.end_column - shift);
    line.before = text.substr(0, start);
    line.expression = text.substr(start, end - start);
    line.after = text.substr(end);
}

}  // namespace

std::vector<ExcerptLine> excerpt_lines(const model::SourceExcerpt& source) {
    const std::size_t meant = source.line - std::size_t{source.first_line};
    if (source.line < source.first_line || meant >= source.lines.size()) {
        return {};
    }
    std::vector<std::string> texts;
    const std::size_t first = meant == 0 ? 0 : meant - 1;
    for (std::size_t i = first; i <= meant + 1; ++i) {
        texts.push_back(i < source.lines.size()
                            ? base::truncate_end(base::clean_text(source.lines[i]), kMostColumns)
                            : std::string());
    }
    std::size_t indent = kMostColumns;
    for (const std::string& text : texts) {
        indent = std::min(indent, is_blank(text) ? indent : text.find_first_not_of(' '));
    }
    const std::size_t width = std::to_string(std::uint64_t{source.line} + 1).size();
    std::vector<ExcerptLine> lines;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        ExcerptLine line;
        line.is_at_location = first + i == meant;
        if (is_blank(texts[i]) && !line.is_at_location) {
            continue;
        }
        line.number = std::to_string(std::uint64_t{source.first_line} + first + i);
        line.number.insert(0, width - std::min(width, line.number.size()), ' ');
        line.before = texts[i].substr(std::min(indent, texts[i].size()));
        if (line.is_at_location) {
            split(line, source, indent);
        }
        lines.push_back(std::move(line));
    }
    return lines;
}

}  // namespace cyclewatch::render
