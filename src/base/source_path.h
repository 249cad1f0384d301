// SPDX-License-Identifier: Apache-2.0
// Classifies source files as user, library or standard library by their path.
#pragma once

#include <cstdint>
#include <string_view>

namespace cyclewatch::base {

enum class Origin : std::uint8_t { user, library, standard_library };

// `user` for every path that is neither in site-packages nor in the standard library.
[[nodiscard]] Origin origin_of_path(std::string_view path);

}  // namespace cyclewatch::base
