// SPDX-License-Identifier: Apache-2.0
// A cycle too long to list has one entry in Finding::cycle that stands for its middle. Its label
// says for how many references; no reference of a program has a label that begins with dots.
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

// How many references of the cycle the entries stand for. A file may hold anything: what is no
// gap's label is one reference.
[[nodiscard]] inline std::uint64_t references_in(std::span<const Reference> entries) {
    std::uint64_t sum = 0;
    for (const Reference& entry : entries) {
        const std::string_view label = entry.label;
        std::uint64_t count = 1;
        if (label.starts_with(kGapStart) && label.ends_with(kGapEnd)) {
            const char* end = label.data() + label.size() - kGapEnd.size();
            std::uint32_t told = 0;  // narrow: sums of what files tell stay far from overflow
            const auto read = std::from_chars(label.data() + kGapStart.size(), end, told);
            count = read.ec == std::errc{} && read.ptr == end ? told : 1;
        }
        sum += count;
    }
    return sum;
}

}  // namespace cyclewatch::model
