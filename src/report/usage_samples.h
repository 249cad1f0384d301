// SPDX-License-Identifier: Apache-2.0
// The memory in use on a device over time, in a bounded number of rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "model/memory_account.h"

namespace cyclewatch::report {

// A row holds the lowest and the highest of a number of consecutive samples. Once there are `limit`
// rows, each two become one, and later rows cover twice as many samples: all rows cover the same
// number of samples, except the last.
class UsageSamples {
  public:
    // `limit`: at least 2.
    UsageSamples(std::size_t limit, std::string device, std::string source) : limit_(limit) {
        columns_.device = std::move(device);
        columns_.source = std::move(source);
    }
    // The rows of `columns`, at most `limit` of them. They must cover equally many samples.
    UsageSamples(std::size_t limit, const model::MemorySamples& columns)
        : UsageSamples(limit, columns.device, columns.source) {
        columns_.process = columns.process;
        for (std::size_t i = 0; i < columns.times.size(); ++i) {
            add(columns.times[i], columns.lowest[i], columns.highest[i]);
        }
    }

    void add(double at, std::uint64_t bytes) { add(at, bytes, bytes); }

    [[nodiscard]] const std::string& source() const noexcept { return columns_.source; }
    [[nodiscard]] const model::MemorySamples& columns() const noexcept { return columns_; }

  private:
    void add(double at, std::uint64_t lowest, std::uint64_t highest) {
        if (in_last_ < per_row_ && !columns_.times.empty()) {
            extend(columns_.times.size() - 1, lowest, highest);
            ++in_last_;
            return;
        }
        if (columns_.times.size() >= limit_) {
            halve();
            if (in_last_ < per_row_) {
                add(at, lowest, highest);
                return;
            }
        }
        columns_.times.push_back(at);
        columns_.lowest.push_back(lowest);
        columns_.highest.push_back(highest);
        in_last_ = 1;
    }

    void extend(std::size_t row, std::uint64_t lowest, std::uint64_t highest) {
        columns_.lowest[row] = std::min(columns_.lowest[row], lowest);
        columns_.highest[row] = std::max(columns_.highest[row], highest);
    }

    void halve() {
        const std::size_t rows = columns_.times.size();
        for (std::size_t row = 0; row < rows; ++row) {
            const std::size_t to = row / 2;
            if (row % 2 == 1) {
                extend(to, columns_.lowest[row], columns_.highest[row]);
                continue;
            }
            columns_.times[to] = columns_.times[row];
            columns_.lowest[to] = columns_.lowest[row];
            columns_.highest[to] = columns_.highest[row];
        }
        const std::size_t left = (rows + 1) / 2;
        columns_.times.resize(left);
        columns_.lowest.resize(left);
        columns_.highest.resize(left);
        in_last_ = rows % 2 == 0 ? 2 * per_row_ : per_row_;
        per_row_ *= 2;
    }

    std::size_t limit_;
    model::MemorySamples columns_;
    std::uint64_t per_row_ = 1;  // samples
    std::uint64_t in_last_ = 0;  // samples in the last row
};

}  // namespace cyclewatch::report
