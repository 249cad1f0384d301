// SPDX-License-Identifier: Apache-2.0
// Chooses how much of a collection to analyze, given the time spent so far.
#pragma once

#include <cstdint>

namespace cyclewatch::watch {

enum class Depth : std::uint8_t {
    full,
    lean,         // over budget: few objects are named, equal clusters are only counted
    owners_only,  // far over budget: owners and bytes are counted, no graph is captured
};

class Budget {
  public:
    // Seconds that are always allowed.
    static constexpr double kGraceSeconds = 0.25;
    // Above this multiple of the budget, one of kSampleEvery collections is analyzed.
    static constexpr double kFarOver = 3;
    static constexpr std::uint64_t kSampleEvery = 16;

    // `share` of wall time: 0.01 is one per cent.
    explicit Budget(double share) : share_(share) {}

    // `spent` and `elapsed` are seconds since the watch began; `collection` counts up.
    [[nodiscard]] Depth depth(double spent, double elapsed, std::uint64_t collection) const {
        if (share_ >= 1 || spent <= kGraceSeconds + share_ * elapsed) {
            return Depth::full;
        }
        if (spent <= kGraceSeconds + kFarOver * share_ * elapsed ||
            collection % kSampleEvery == 0) {
            return Depth::lean;
        }
        return Depth::owners_only;
    }

  private:
    double share_;
};

}  // namespace cyclewatch::watch
