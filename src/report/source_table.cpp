// SPDX-License-Identifier: Apache-2.0
#include "report/source_table.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>

#include "base/source_path.h"
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
    // A long line is truncated, so the expression may be missing.
    if (reference.columns.is_known() && index < lines.size() &&
        reference.columns.end <= lines[index].size()) {
        source.start_column = code_points(lines[index], reference.columns.start) + 1;
        source.end_column = code_points(lines[index], reference.columns.end) + 1;
    }
    return source;
}

}  // namespace

std::string source_key(const model::Reference& reference) {
    if (!reference.is_generated) {
        return reference.location;
    }
    const std::string& owner =
        reference.base_class.empty() ? reference.holder : reference.base_class;
    const std::size_t name = reference.label.find_first_of(".:") + 1;
    return std::string(base::path_of_location(reference.location)) + ":" + owner + "." +
           reference.label.substr(name);
}

void SourceTable::fill(model::Finding& finding) const {
    for (std::vector<model::Reference>* list :
         {&finding.cut, &finding.alternatives, &finding.cycle}) {
        for (model::Reference& reference : *list) {
            const auto found = lines_.find(source_key(reference));
            if (found == lines_.end()) {
                continue;
            }
            const auto& [first_line, lines] = found->second;
            if (reference.is_generated) {
                reference.location = base::text_of(
                    {std::string(base::path_of_location(reference.location)), first_line});
            }
            if (list != &finding.cycle) {
                reference.source = excerpt_of(reference, first_line, lines);
            }
        }
    }
}

}  // namespace cyclewatch::report
