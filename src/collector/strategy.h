// SPDX-License-Identifier: Apache-2.0
// How the unreachable set is learnt. Two ways, chosen once at install.
#pragma once

#include <cstdint>

namespace cyclewatch::collector {

enum class Strategy : std::uint8_t {
    ride_along,      // the collector's own verdict, read through the canary; exact and cheap
    trial_deletion,  // our own reference count over gc.get_objects(), before the collector's;
                     // public API only; costs about one more collection for each
};

[[nodiscard]] constexpr const char* strategy_name(Strategy strategy) noexcept {
    return strategy == Strategy::ride_along ? "ride-along" : "trial-deletion";
}

}  // namespace cyclewatch::collector
