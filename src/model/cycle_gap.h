// SPDX-License-Identifier: Apache-2.0
// If a cycle is too long to list, one entry of Finding::cycle represents the omitted references in
// the middle. Its label, "... 801 more ...", contains their number. Labels of real references never
// begin with "...".
#pragma once

#include <charconv>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "model/finding.h"

namespace cyclewatch::model {

inline constexpr std::string_view kGapStart = "... ";
inline constexpr std::string_view kGapEnd = " more ...";

[[nodiscard]] inline std::string gap_label(std::uint64_t references) {
    return std::string(kGapStart) + std::to_string(references) + std::string(kGapEnd);
}

// The number of references in the cycle, including the omitted ones. The entries may come from an
// untrusted file; a malformed gap label is counted as one reference.
[[nodiscard]] inline std::uint64_t references_in(std::span<const Reference> entries) {
    std::uint64_t sum = 0;
    for (const Reference& entry : entries) {
        const std::string_view label = entry.label;
        std::uint64_t count = 1;
        if (label.starts_with(kGapStart) && label.ends_with(kGapEnd)) {
            const char* end = label.data() + label.size() - kGapEnd.size();
            std::uint32_t number = 0;  // 32 bits, so that the sum cannot overflow
            const auto read = std::from_chars(label.data() + kGapStart.size(), end, number);
            count = read.ec == std::errc{} && read.ptr == end ? number : 1;
        }
        sum += count;
    }
    return sum;
}

}  // namespace cyclewatch::model
