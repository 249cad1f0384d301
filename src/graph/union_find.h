// SPDX-License-Identifier: Apache-2.0
// Disjoint sets of numbers. The least number of a set represents it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace cyclewatch::graph {

class UnionFind {
  public:
    explicit UnionFind(std::size_t size) : parent_(size) {
        std::iota(parent_.begin(), parent_.end(), 0U);
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

  private:
    std::vector<std::uint32_t> parent_;
};

}  // namespace cyclewatch::graph
