// SPDX-License-Identifier: Apache-2.0
#include "report/source_table.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>

#include "base/text.h"

namespace cyclewatch::report {
namespace {

std::uint32_t line_of(std::string_view location) {
    const std::string_view digits = location.substr(location.rfind(':') + 1);
    std::uint32_t line = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), line);
    return line;
}

// The number of code points in the first `bytes` bytes of UTF-8.
std::uint32_t code_points(std::string_view text, std::uint32_t bytes) {
    const std::string_view part = text.substr(0, bytes);
    return static_cast<std::uint32_t>(
        std::ranges::count_if(part, [](char c) { return !base::is_continuation(c); }));
}

model::SourceExcerpt excerpt_of(const model::Reference& reference,
                                std::uint32_t first_line,
                                const std::vector<std::string>& lines) {
    model::SourceExcerpt source;
    source.first_line = first_line;
    source.line = line_of(reference.location);
    source.lines = lines;
    const std::size_t index = source.line - std::size_t{first_line};
    // A long line is truncated, perhaps before the expression.
    if (reference.columns.is_known() && index < lines.size() &&
        reference.columns.end <= lines[index].size()) {
        source.start_column = code_points(lines[index], reference.columns.start) + 1;
        source.end_column = code_points(lines[index], reference.columns.end) + 1;
    }
    return source;
}

}  // namespace

void SourceTable::fill(model::Finding& finding) const {
    for (std::vector<model::Reference>* list : {&finding.cut, &finding.alternatives}) {
        for (model::Reference& reference : *list) {
            if (const auto found = lines_.find(reference.location); found != lines_.end()) {
                reference.source = excerpt_of(reference, found->second.first, found->second.second);
            }
        }
    }
}

}  // namespace cyclewatch::report
