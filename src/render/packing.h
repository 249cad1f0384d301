// SPDX-License-Identifier: Apache-2.0
// Text as gzip as base64: a tenth of the size, and still text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cyclewatch::render {

[[nodiscard]] std::string pack(std::string_view text);

// Fails on what pack() never wrote, and on what grows longer than `most`.
[[nodiscard]] base::Result<std::string> unpack(std::string_view packed, std::size_t most);

}  // namespace cyclewatch::render
