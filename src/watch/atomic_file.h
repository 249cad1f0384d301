// SPDX-License-Identifier: Apache-2.0
// Files that are either the old or the new one, never half: the one way in which anything here
// gets into a file. No Python; any thread.
#pragma once

#include <string>
#include <string_view>
#include <system_error>

namespace cyclewatch::watch {

// What stands at the path already.
enum class Existing {
    keep,     // and fail with std::errc::file_exists
    replace,  // in one step; a link, a pipe or a device is replaced itself, nothing is followed
    // As above, but what is no file (a terminal, a pipe, /dev/null) is opened and written into, by
    // way of links too. Only for a path that somebody named: others could have put it there.
    replace_or_write_into
};

// Who may read the new file.
enum class Readers {
    owner,  // nobody else: it was written without being asked for
    umask   // whoever the process's umask lets
};

// Writes `bytes` to a new file of an unpredictable name beside `path`, then moves it there.
// Falsy on success; on failure whatever stood at `path` is as it was.
[[nodiscard]] std::error_code write_file(const std::string& path,
                                         std::string_view bytes,
                                         Existing existing,
                                         Readers readers);

}  // namespace cyclewatch::watch
