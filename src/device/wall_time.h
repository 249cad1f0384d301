// SPDX-License-Identifier: Apache-2.0
// A moment on the clock that torch stamps its memory history with, and the means to see that the
// clock was set in the meantime.
#pragma once

#include <cstdint>

namespace cyclewatch::device {

struct WallTime {
    std::int64_t microseconds = 0;  // since the epoch
    std::int64_t ahead = 0;         // of a clock that nobody sets; the same while this one runs on

    // A few looks at clocks: some hundred nanoseconds.
    [[nodiscard]] static WallTime now() noexcept;
};

}  // namespace cyclewatch::device
