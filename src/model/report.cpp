// SPDX-License-Identifier: Apache-2.0
#include "model/report.h"

#include <algorithm>
#include <cmath>

namespace cyclewatch::model {

GenerationTotals& totals_of(Stats& stats, int generation) {
    auto at =
        std::ranges::lower_bound(stats.generations, generation, {}, &GenerationTotals::generation);
    if (at == stats.generations.end() || at->generation != generation) {
        at = stats.generations.insert(at, GenerationTotals{});
        at->generation = generation;
    }
    return *at;
}

void update_shares(Stats& stats) {
    for (GenerationTotals& totals : stats.generations) {
        // Round to six decimals, as the JSON writer does, so that loading a report does not change
        // the value.
        constexpr double kParts = 1e6;
        const double share = stats.elapsed > 0 ? totals.seconds / stats.elapsed : 0;
        totals.share = std::round(std::min(share, 1.0) * kParts) / kParts;
    }
}

}  // namespace cyclewatch::model
