// SPDX-License-Identifier: Apache-2.0
// Whose a source file is, by where it lies.
#pragma once

#include <cstdint>
#include <string_view>

namespace cyclewatch::base {

enum class Origin : std::uint8_t { user, library, standard_library };

// What is neither installed nor the interpreter's own is the user's.
[[nodiscard]] Origin origin_of_path(std::string_view path);

}  // namespace cyclewatch::base
