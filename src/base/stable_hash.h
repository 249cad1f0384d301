// SPDX-License-Identifier: Apache-2.0
// A hash with the same value on every run, machine and compiler. Signatures are based on it.
#pragma once

#include <cstdint>
#include <string_view>

namespace cyclewatch::base {

// 64-bit FNV-1a (Fowler, Noll, Vo; draft-eastlake-fnv) with a final mixing step.
class StableHash {
  public:
    StableHash& add(std::string_view text) noexcept {
        for (const char c : text) {
            step(static_cast<unsigned char>(c));
        }
        step(0xff);  // separator, not valid in UTF-8: "ab","c" and "a","bc" must differ
        return *this;
    }
    [[nodiscard]] std::uint64_t value() const noexcept {
        std::uint64_t mixed = state_;
        mixed ^= mixed >> 32;
        mixed *= 0xd6e8feb86659fd93ULL;
        mixed ^= mixed >> 32;
        return mixed;
    }

  private:
    void step(unsigned char byte) noexcept { state_ = (state_ ^ byte) * 0x100000001b3ULL; }
    std::uint64_t state_ = 0xcbf29ce484222325ULL;
};

}  // namespace cyclewatch::base
