// SPDX-License-Identifier: Apache-2.0
// Formats byte counts for display.
#pragma once

#include <cstdint>
#include <string>

namespace cyclewatch::base {

// "0 B", "512 B", "4.0 KiB", "1.5 GiB": three significant digits, powers of 1024.
[[nodiscard]] std::string format_bytes(std::uint64_t bytes);

}  // namespace cyclewatch::base
