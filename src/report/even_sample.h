// SPDX-License-Identifier: Apache-2.0
// A bounded sample of a sequence, spread evenly over the sequence, that keeps the peaks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace cyclewatch::report {

// kSize: a member or method of T by which entries are compared. kNumber: a member that differs
// between entries.
template <typename T, auto kSize, auto kNumber>
class EvenSample {
  public:
    // `limit`: maximum number of entries, at least 2.
    explicit EvenSample(std::size_t limit) : limit_(limit) {}

    void add(const T& entry) {
        while (last_group_ == group_ && kept_.size() >= room()) {
            halve();
        }
        if (kept_.empty() || last_group_ == group_) {
            kept_.push_back(entry);
            last_group_ = 1;
        } else {
            kept_.back() = larger(kept_.back(), entry);
            ++last_group_;
        }
        latest_ = entry;
        ++added_;
    }

    // The stored entries in order, including the latest. If the limit is exceeded, consecutive
    // entries form groups of equal size, and only the largest entry of each group is stored.
    [[nodiscard]] std::vector<T> entries() const {
        std::vector<T> entries = kept_;
        if (!entries.empty() &&
            std::invoke(kNumber, entries.back()) != std::invoke(kNumber, latest_)) {
            entries.push_back(latest_);
        }
        return entries;
    }
    [[nodiscard]] std::uint64_t omitted() const { return added_ - entries().size(); }
    [[nodiscard]] std::uint64_t added() const { return added_; }

  private:
    static const T& larger(const T& one, const T& other) {
        return std::invoke(kSize, other) > std::invoke(kSize, one) ? other : one;
    }
    // The maximum size of kept_: one less than the limit if entries() may append the latest entry.
    [[nodiscard]] std::size_t room() const { return group_ == 1 ? limit_ : limit_ - 1; }

    void halve() {
        std::vector<T> fewer;
        fewer.reserve(limit_);
        for (std::size_t i = 0; i + 1 < kept_.size(); i += 2) {
            fewer.push_back(larger(kept_[i], kept_[i + 1]));
        }
        group_ *= 2;
        last_group_ = group_;
        if (kept_.size() % 2 == 1) {
            fewer.push_back(std::move(kept_.back()));
            last_group_ = group_ / 2;
        }
        kept_ = std::move(fewer);
    }

    std::size_t limit_;
    std::vector<T> kept_;
    T latest_;
    std::uint64_t added_ = 0;
    std::uint64_t group_ = 1;       // entries per kept entry
    std::uint64_t last_group_ = 0;  // entries that the last kept entry represents so far
};

}  // namespace cyclewatch::report
