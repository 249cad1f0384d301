// SPDX-License-Identifier: Apache-2.0
// A 128-bit hash for comparing sequences of numbers without storing the sequences. If the numbers
// are meaningful only within one process, so is the hash.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string_view>

namespace cyclewatch::base {

struct WideHash {
    std::uint64_t high = 0;
    std::uint64_t low = 0;

    // The two halves of the hash use different multipliers, so sequences that collide in one half
    // are unlikely to collide in the other.
    WideHash& add(std::uint64_t value) noexcept {
        high = (high ^ value) * 0x9e3779b97f4a7c15ULL;
        high ^= high >> 32;
        low = (low + value + 1) * 0xd6e8feb86659fd93ULL;
        low ^= low >> 29;
        return *this;
    }
    WideHash& add(std::string_view text) noexcept {
        return add(std::hash<std::string_view>{}(text)).add(text.size());
    }

    [[nodiscard]] bool is_zero() const noexcept { return high == 0 && low == 0; }
    // clang-tidy 14 mistakes the 0 in the generated comparison for a null pointer.
    friend auto operator<=>(const WideHash&,
                            const WideHash&) = default;  // NOLINT(modernize-use-nullptr)
};

}  // namespace cyclewatch::base
