// SPDX-License-Identifier: Apache-2.0
// Writes files atomically, so that readers see either the old or the new contents. No Python;
// thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <system_error>

namespace cyclewatch::watch {

// The action to take if the path exists.
enum class Existing {
    keep,     // fail with std::errc::file_exists
    replace,  // replace it atomically, even if it is a link, a pipe or a device
    // Like `replace`, but if the path is a terminal, pipe or device, or a link to one, writes into
    // it. Use this only for paths that the user specified: another user could have created a file
    // at any other path.
    replace_or_write_into
};

// Who may read a new file.
enum class Readers {
    owner,  // 0600: the user did not ask for this file
    umask   // 0666, restricted by the umask
};

// Writes `bytes` to a new file with a random name in the same directory and moves it to `path`.
// On failure, `path` is unchanged.
[[nodiscard]] std::error_code write_file(const std::string& path,
                                         std::string_view bytes,
                                         Existing existing,
                                         Readers readers);

}  // namespace cyclewatch::watch
