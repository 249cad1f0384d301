// SPDX-License-Identifier: Apache-2.0
// A directed graph in compressed sparse row format, the input of the graph algorithms.
#pragma once

#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace cyclewatch::graph {

// A non-owning view. The targets of node n are targets[first[n] .. first[n + 1]).
struct AdjacencyView {
    std::span<const std::uint32_t> first;
    std::span<const std::uint32_t> targets;

    [[nodiscard]] std::uint32_t nodes() const {
        return first.empty() ? 0 : static_cast<std::uint32_t>(first.size() - 1);
    }
    [[nodiscard]] std::span<const std::uint32_t> of(std::uint32_t node) const {
        return targets.subspan(first[node], first[node + 1] - first[node]);
    }
};

// Builds the compressed rows with a counting sort. Call count() for every (row, item) pair, then
// begin_filling(), then fill() for the same pairs.
class Rows {
  public:
    explicit Rows(std::size_t rows) : first_(rows + 1, 0) {}
    void count(std::uint32_t row) { ++first_[row + 1]; }
    void begin_filling() {
        std::partial_sum(first_.begin(), first_.end(), first_.begin());
        next_.assign(first_.begin(), first_.end() - 1);
        items_.resize(first_.back());
    }
    void fill(std::uint32_t row, std::uint32_t item) { items_[next_[row]++] = item; }

    [[nodiscard]] std::span<const std::uint32_t> of(std::uint32_t row) const {
        return std::span(items_).subspan(first_[row], first_[row + 1] - first_[row]);
    }
    // REQUIRES: the items are node numbers.
    [[nodiscard]] AdjacencyView view() const { return {first_, items_}; }

  private:
    std::vector<std::uint32_t> first_;
    std::vector<std::uint32_t> next_;
    std::vector<std::uint32_t> items_;
};

// Inverts `row_of`. Row r of the result lists, in ascending order, the positions i with
// row_of[i] == r. Positions i with row_of[i] == UINT32_MAX are not in any row.
inline Rows listed_by(std::span<const std::uint32_t> row_of, std::size_t rows) {
    Rows listed(rows);
    for (const std::uint32_t row : row_of) {
        if (row != UINT32_MAX) {
            listed.count(row);
        }
    }
    listed.begin_filling();
    for (std::uint32_t i = 0; i < row_of.size(); ++i) {
        if (row_of[i] != UINT32_MAX) {
            listed.fill(row_of[i], i);
        }
    }
    return listed;
}

}  // namespace cyclewatch::graph
