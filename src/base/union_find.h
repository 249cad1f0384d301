// SPDX-License-Identifier: Apache-2.0
// Disjoint sets of numbers, with path halving (Tarjan, van Leeuwen, "Worst-case Analysis of Set
// Union Algorithms", 1984). The smallest number in a set represents the set.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace cyclewatch::base {

class UnionFind {
  public:
    UnionFind() = default;
    // The sets {0}, {1}, ... {size - 1}.
    explicit UnionFind(std::size_t size) : parent_(size) {
        std::iota(parent_.begin(), parent_.end(), 0U);
    }

    // Adds a set with one new number, and returns the number.
    std::uint32_t add() {
        parent_.push_back(static_cast<std::uint32_t>(parent_.size()));
        return parent_.back();
    }

    [[nodiscard]] std::uint32_t find(std::uint32_t item) {
        while (parent_[item] != item) {
            item = parent_[item] = parent_[parent_[item]];
        }
        return item;
    }

    void unite(std::uint32_t a, std::uint32_t b) {
        const std::uint32_t first = find(a);
        const std::uint32_t second = find(b);
        parent_[std::max(first, second)] = std::min(first, second);
    }

    [[nodiscard]] std::size_t size() const noexcept { return parent_.size(); }

  private:
    std::vector<std::uint32_t> parent_;
};

}  // namespace cyclewatch::base
