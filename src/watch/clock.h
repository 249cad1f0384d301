// SPDX-License-Identifier: Apache-2.0
// The clock of the watches.
#pragma once

#include <chrono>

namespace cyclewatch::watch {

using Clock = std::chrono::steady_clock;

inline double seconds(Clock::duration duration) {
    return std::chrono::duration<double>(duration).count();
}

}  // namespace cyclewatch::watch
