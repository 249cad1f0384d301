// SPDX-License-Identifier: Apache-2.0
// A sparse array: memory is allocated only for the pages whose elements are accessed with at().
// at() may throw std::bad_alloc.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace cyclewatch::capture {

class SparseArray {
  public:
    explicit SparseArray(std::size_t size) : pages_((size + kPage - 1) / kPage) {}

    [[nodiscard]] std::uint32_t operator[](std::size_t i) const {
        const std::unique_ptr<Page>& page = pages_[i / kPage];
        return page ? (*page)[i % kPage] : 0;
    }
    [[nodiscard]] std::uint32_t& at(std::size_t i) {
        std::unique_ptr<Page>& page = pages_[i / kPage];
        if (!page) {
            page = std::make_unique<Page>();
            used_.push_back(static_cast<std::uint32_t>(i / kPage));
        }
        return (*page)[i % kPage];
    }
    // Makes all elements zero.
    void clear() noexcept {
        for (const std::uint32_t page : used_) {
            pages_[page].reset();
        }
        used_.clear();
    }

  private:
    static constexpr std::size_t kPage = 64;
    using Page = std::array<std::uint32_t, kPage>;

    std::vector<std::unique_ptr<Page>> pages_;
    std::vector<std::uint32_t> used_;
};

}  // namespace cyclewatch::capture
