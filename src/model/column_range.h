// SPDX-License-Identifier: Apache-2.0
// The columns that an expression occupies in its line.
#pragma once

#include <cstdint>

namespace cyclewatch::model {

// The half-open range [start, end). Empty if the columns are unknown.
struct ColumnRange {
    std::uint32_t start = 0;
    std::uint32_t end = 0;

    [[nodiscard]] bool is_known() const noexcept { return start < end; }

    friend bool operator==(const ColumnRange&, const ColumnRange&) = default;
};

}  // namespace cyclewatch::model
