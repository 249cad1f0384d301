// SPDX-License-Identifier: Apache-2.0
// How deep to look, given what looking has cost so far. Pure arithmetic.
#pragma once

#include <cstdint>

#include "watch/pipeline.h"

namespace cyclewatch::watch {

class Budget {
  public:
    // Seconds that may be spent before any share counts: the first findings are worth it.
    static constexpr double kGraceSeconds = 0.25;
    // Over this many budgets, most collections are not looked into at all ...
    static constexpr double kFarOver = 3;
    // ... except one in this many.
    static constexpr std::uint64_t kSampleEvery = 16;

    // `share`: 0.01 for one per cent of wall time; 0 means the least depth from the start.
    explicit Budget(double share) : share_(share) {}

    // `spent` and `elapsed` in seconds since the watch began; `collection` counts up.
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
