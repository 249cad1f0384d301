// SPDX-License-Identifier: Apache-2.0
#include "device/wall_time.h"

#include <chrono>

namespace cyclewatch::device {

WallTime WallTime::now() noexcept {
    using std::chrono::duration_cast;
    using std::chrono::microseconds;
    using std::chrono::steady_clock;
    constexpr auto kUndisturbed = microseconds(10);
    constexpr int kTries = 5;  // the thread may have to wait between two looks
    WallTime time;
    for (int i = 0; i < kTries; ++i) {
        const auto before = steady_clock::now();
        const auto wall = std::chrono::system_clock::now().time_since_epoch();
        const auto passed = steady_clock::now() - before;
        time = {duration_cast<microseconds>(wall).count(),
                duration_cast<microseconds>(wall - before.time_since_epoch()).count()};
        if (passed < kUndisturbed) {
            break;
        }
    }
    return time;
}

}  // namespace cyclewatch::device
