// SPDX-License-Identifier: Apache-2.0
#include "base/byte_size.h"

#include <array>
#include <cstdio>

namespace cyclewatch::base {

std::string format_bytes(std::uint64_t bytes) {
    static constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (bytes < 1024) {
        return std::to_string(bytes) + " B";
    }
    auto value = static_cast<double>(bytes);
    std::size_t unit = 0;
    // 1023.5 would be printed as "1024": use the next unit if rounding gives four digits.
    while (value >= 1023.5 && unit + 1 < kUnits.size()) {
        value /= 1024;
        ++unit;
    }
    std::array<char, 32> text{};
    std::snprintf(
        text.data(), text.size(), value < 99.95 ? "%.1f %s" : "%.0f %s", value, kUnits[unit]);
    return text.data();
}

}  // namespace cyclewatch::base
