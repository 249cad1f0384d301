// SPDX-License-Identifier: Apache-2.0
// Preloaded library: the time of day decreases by an hour with each call, and the monotonic clock
// is five milliseconds slow on every other call.
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <ctime>

namespace {

constexpr std::time_t kStart = 2'000'000'000;
constexpr long kDelay = 5'000'000;  // nanoseconds
constexpr long kSecond = 1'000'000'000;

std::atomic<std::time_t> looks{0};

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, timespec* now) noexcept {
    const std::time_t look = ++looks;
    if (clock == CLOCK_REALTIME) {
        *now = {kStart - look * 3600, 0};
        return 0;
    }
    const auto result = static_cast<int>(::syscall(SYS_clock_gettime, clock, now));
    if (clock == CLOCK_MONOTONIC && look % 2 == 0) {
        now->tv_nsec -= kDelay;
        if (now->tv_nsec < 0) {
            now->tv_nsec += kSecond;
            --now->tv_sec;
        }
    }
    return result;
}

__attribute__((visibility("default"))) std::time_t time(std::time_t* result) noexcept {
    timespec now{};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (result != nullptr) {
        *result = now.tv_sec;
    }
    return now.tv_sec;
}

}  // extern "C"
