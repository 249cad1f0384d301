// SPDX-License-Identifier: Apache-2.0
// Files that are either the old or the new one, never half. No Python; any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace cyclewatch::watch {

struct Written {
    std::string path;
};

// Writes a temporary file of an unpredictable name beside `path` (mode 0600), then renames it
// into place, replacing what stood there. The error names the path and the reason.
[[nodiscard]] base::Result<Written> write_atomically(const std::string& path,
                                                     std::string_view bytes);

// As above, but fails if something stands at `path` already ("already exists").
[[nodiscard]] base::Result<Written> write_new(const std::string& path, std::string_view bytes);

}  // namespace cyclewatch::watch
